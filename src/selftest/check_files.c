#include "base/memory.h"
#include "base/outfile_set.h"
#include "formats/ktensor/ktensor_io.h"
#include "formats/tensor_file.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"
#include "tensor/blco.h"

#define WRITER_MEMORY (UINT64_C(1) << 20)

/* Writes x to a file, and reads it back. */
static enum status check_tensor_file(const struct selftest_place *p, const struct coo *x,
                                     const char *name, struct verdict *f, struct error *error)
{
    static const struct tensor_write_options options = {
        .text = {.index_base = 1, .header = TNS_HEADER_DIMS}, .memory = WRITER_MEMORY};
    static const struct tns_options one_based = {.index_base = 1};
    struct tensor_writer writer;
    struct tensor_reader r = {.tns = &one_based};
    struct coo read = {0};
    struct line_writer_report report;
    char *path = memory_text(error, "%s/%s", p->folder, name);
    if (!path)
        return error->status;
    TRY_OR(done, tensor_writer_open(&writer, path, &x->shape, x->nnz, &options, error));
    if (tensor_writer_append(&writer, x, error) == STATUS_OK)
        tensor_writer_commit(&writer, &report, error);
    tensor_writer_free(&writer);
    TRY_OR(done, error->status);
    r.path = path;
    TRY_OR(done, tensor_file_find_format(&r, error));
    TRY_OR(done, tensor_reader_whole(&r, &read, error));
    verdict_same_tensor(f, &read, x, name);
done:
    tensor_reader_close(&r);
    coo_free(&read);
    memory_free(path);
    return error->status;
}

enum status check_tensor_files(const struct selftest_place *p, int which, struct verdict *f,
                               struct error *error)
{
    (void)which;
    static const char *const names[] = {"tensor.tns", "tensor.tns.gz", "tensor.blco"};
    static const struct shape shape = {4, {300, 17, 4000, 29}};
    static const struct blco_options options = {.kind = ORDERING_ALTO};
    struct coo scattered, x = {0}; /* x: in alto order, the order in which files are written */
    struct blco b = {0};
    TRY_OR(done, known_scattered(&scattered, &shape, 20000, 3, 1, error));
    TRY_OR(done, blco_build(&b, &scattered, &options, error));
    TRY_OR(done, blco_to_coo(&b, &x, error));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TRY_OR(done, check_tensor_file(p, &x, names[i], f, error));
done:
    blco_free(&b);
    coo_free(&scattered);
    coo_free(&x);
    return error->status;
}

static enum status check_model_file(const struct selftest_place *p, const struct ktensor *k,
                                    const struct ktensor_format *format, struct verdict *f,
                                    struct error *error)
{
    struct named_model read = {0};
    struct stem_lock lock;
    struct ktensor_files files = {0};
    const char *name = word_of(ktensor_format_words, (int)format->flag);
    char *stem = memory_text(error, "%s/%s", p->folder, name);
    if (!stem)
        return error->status;
    TRY_OR(done, outfile_set_lock(&lock, stem, error));
    ktensor_write(&(struct ktensor_source){.k = k}, NULL, NULL, &lock, format->flag, &files, error);
    ktensor_files_free(&files);
    stem_lock_release(&lock);
    TRY_OR(done, error->status);
    read.stem = stem;
    TRY_OR(done, named_model_read(&read, NULL, error));
    verdict_same_model(f, &read.k, k, 0, name);
done:
    named_model_free(&read);
    memory_free(stem);
    return error->status;
}

enum status check_model_files(const struct selftest_place *p, int which, struct verdict *f,
                              struct error *error)
{
    (void)which;
    static const struct shape shape = {3, {70, 1, 40}};
    struct ktensor k;
    TRY(ktensor_create(&k, &shape, 5, error));
    ktensor_randomise(&k, KTENSOR_NORMAL, 11);
    TRY_OR(done, ktensor_arrange(&k, error));
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++)
        TRY_OR(done, check_model_file(p, &k, &ktensor_formats[i], f, error));
done:
    ktensor_free(&k);
    return error->status;
}

#define NONZEROS 12

/* The BLCO paper's Figure 6 (Nguyen et al., ICS 2022): nonzero i, of value i + 1, its line, and its
 * index with 5 bits below the block key. */
static const uint32_t coordinate[NONZEROS][3] = {{0, 0, 0}, {0, 0, 1}, {0, 2, 2}, {1, 0, 1},
                                                 {1, 0, 2}, {2, 0, 1}, {2, 3, 3}, {3, 1, 0},
                                                 {3, 1, 1}, {3, 2, 2}, {3, 2, 3}, {3, 3, 3}};
static const uint64_t lines[NONZEROS] = {0, 4, 48, 5, 33, 12, 62, 11, 15, 57, 61, 63};

/* Along the line: the paper's two blocks, of six nonzeros each. */
static const uint64_t sorted_index[NONZEROS] = {0, 16, 17, 7, 18, 23, 1, 8, 11, 27, 30, 31};
static const double sorted_value[NONZEROS] = {1, 2, 4, 8, 6, 9, 5, 3, 10, 11, 7, 12};

enum status check_ordering(const struct selftest_place *p, int which, struct verdict *f,
                           struct error *error)
{
    (void)which;
    (void)p;
    static const struct shape shape = {3, {4, 4, 4}};
    static const struct blco_options options = {.kind = ORDERING_ALTO, .index_bits = 5};
    struct ordering o;
    struct coo x;
    struct blco b = {0};
    uint64_t line[NONZEROS];
    ordering_create(&o, ORDERING_ALTO, &shape, 5);
    TRY(coo_create(&x, &shape, NONZEROS, error));
    for (int i = 0; i < NONZEROS; i++) {
        for (int n = 0; n < 3; n++)
            x.index[n][i] = coordinate[i][n];
        x.value[i] = i + 1;
    }
    TRY_OR(done, ordering_line_words(&o, &x, 0, NULL, line, error));
    for (int i = 0; i < NONZEROS; i++)
        verdict_equal(f, line[i], lines[i], "figure 6, line of nonzero %d", i + 1);
    TRY_OR(done, blco_build(&b, &x, &options, error));
    verdict_equal(f, b.nblocks, 2, "figure 6, blocks");
    for (uint64_t k = 0; k < b.nblocks; k++) {
        verdict_equal(f, b.block[k].count, 6, "figure 6, nonzeros of block %d", (int)k);
        verdict_equal(f, b.block[k].base[2], 2 * k, "figure 6, base of mode 3, block %d", (int)k);
    }
    for (int i = 0; i < NONZEROS; i++) {
        verdict_equal(f, b.index[0][i], sorted_index[i], "figure 6, index %d", i);
        verdict_near(f, b.value[i], sorted_value[i], 0, "figure 6, value %d", i);
    }
done:
    blco_free(&b);
    coo_free(&x);
    return error->status;
}
