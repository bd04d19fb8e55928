#include "formats/tns/foreign_file.h"

#include <string.h>

#include "base/shell_word.h"

#define STANDARD_INPUT "standard input" /* its line_reader_name() */

struct kind {
    const char *magic;
    size_t at, length; /* of the magic bytes */
    const char *what;
    const char *tool;   /* the command that writes the text to standard output, or NULL */
    const char *advice; /* what else to do, where there is no such command */
};

#define EXPECTED      ", expected plain text, gzip or .blco: "
#define MAGIC(bytes)  bytes, 0, sizeof bytes - 1
#define WRITE_LINES   EXPECTED "write each nonzero as a text line of its indices and its value"
#define MATLAB_ADVICE EXPECTED "write the tensor as text, as export_data of Tensor Toolbox does"

static const struct kind kinds[] = {
    {MAGIC("\xfd\x37zXZ"), "compressed by xz", "xz -dc", NULL},
    {MAGIC("BZh"), "compressed by bzip2", "bzip2 -dc", NULL},
    {MAGIC("\x28\xb5\x2f\xfd"), "compressed by zstd", "zstd -dc", NULL},
    {MAGIC("\x04\x22\x4d\x18"), "compressed by lz4", "lz4 -dc", NULL},
    {MAGIC("\x1f\x9d"), "compressed by compress", "gzip -dc", NULL},
    {MAGIC("PK\x03\x04"), "a zip archive", "unzip -p", NULL},
    {MAGIC("7z\xbc\xaf\x27\x1c"), "a 7z archive", "7z x -so", NULL},
    {"ustar", 257, 5, "a tar archive", "tar -xOf", NULL},
    {MAGIC("\xff\xfe\0\0"), "text in UTF-32", "iconv -f UTF-32 -t UTF-8", NULL},
    {MAGIC("\0\0\xfe\xff"), "text in UTF-32", "iconv -f UTF-32 -t UTF-8", NULL},
    {MAGIC("\xff\xfe"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8", NULL},
    {MAGIC("\xfe\xff"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8", NULL},
    {MAGIC("\x89HDF\r\n\x1a\n"), "an HDF5 file", NULL, WRITE_LINES},
    {MAGIC("PAR1"), "a Parquet file", NULL, WRITE_LINES},
    {MAGIC("\x93NUMPY"), "a NumPy array", NULL,
     ", expected a name that ends in .npy: give it as COORDS.npy,VALUES.npy"},
    {MAGIC("MATLAB 5.0 MAT-file"), "a MATLAB file", NULL, MATLAB_ADVICE},
    {MAGIC("MATLAB 7.3 MAT-file"), "a MATLAB file", NULL, MATLAB_ADVICE},
    {MAGIC("tensor\n"), "a dense tensor of Tensor Toolbox", NULL,
     EXPECTED "write its nonzeros, as export_data does of sptensor(X)"},
    {MAGIC("ktensor\n"), "a model", NULL, ": give the tensor that it is a model of"},
    {MAGIC("\x89\x42LCO\r\n\x1a"), "a .blco file in a pipe", NULL,
     ": give it by its name, since it is not read from front to back"},
    {MAGIC("\x89\x42LCO"), "a .blco file that was changed by a transfer as text", NULL,
     ": transfer it again, as binary"},
};

static enum status refuse(const char *name, const struct kind *kind, struct error *error)
{
    if (!kind->tool)
        return error_set(error, STATUS_INPUT, "%s: is %s%s", name, kind->what, kind->advice);
    char word[1024];
    bool piped = strcmp(name, STANDARD_INPUT) == 0;
    return error_set(error, STATUS_INPUT, "%s: is %s" EXPECTED "%s%s%s | blco COMMAND - ...", name,
                     kind->what, kind->tool, piped ? "" : " ",
                     piped ? "" : shell_word(name, word, sizeof word));
}

static bool begins_with(const char *bytes, size_t count, const struct kind *kind)
{
    return count >= kind->at + kind->length &&
           memcmp(bytes + kind->at, kind->magic, kind->length) == 0;
}

/* Whether a CR stands where no other line end is near: twice, and without an LF but at the end. */
static bool ends_lines_in_cr(const char *bytes, size_t count)
{
    const char *end = bytes + count - (count > 0);
    const char *cr = memchr(bytes, '\r', (size_t)(end - bytes));
    return cr && memchr(cr + 1, '\r', (size_t)(end - cr - 1)) &&
           !memchr(bytes, '\n', (size_t)(end - bytes));
}

/* The kind of text in UTF-16 without a byte order mark, of which every other byte is 0; or NULL. */
static const struct kind *utf16_without_mark(const char *bytes, size_t count)
{
    static const struct kind little = {.what = "text in UTF-16",
                                       .tool = "iconv -f UTF-16LE -t UTF-8"},
                             big = {.what = "text in UTF-16", .tool = "iconv -f UTF-16BE -t UTF-8"};
    if (count < 4)
        return NULL;
    if (bytes[0] && !bytes[1] && bytes[2] && !bytes[3])
        return &little;
    return !bytes[0] && bytes[1] && !bytes[2] && bytes[3] ? &big : NULL;
}

enum status foreign_file_refuse(const char *name, const char *bytes, size_t count, bool gzip,
                                struct error *error)
{
    static const struct kind packed = {MAGIC("\x89\x42LCO"), "a .blco file compressed by gzip",
                                       NULL, ", expected one that is not: unpack it with gzip -d"},
                             cr = {.what = "text whose lines end in CR alone",
                                   .advice = ", expected lines that end in LF or CR LF"};
    if (gzip && begins_with(bytes, count, &packed))
        return refuse(name, &packed, error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (begins_with(bytes, count, &kinds[i]))
            return refuse(name, &kinds[i], error);
    const struct kind *utf16 = utf16_without_mark(bytes, count);
    if (utf16)
        return refuse(name, utf16, error);
    return ends_lines_in_cr(bytes, count) ? refuse(name, &cr, error) : STATUS_OK;
}
