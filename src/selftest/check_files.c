#include <string.h>

#include "base/memory.h"
#include "formats/tensor_input.h"
#include "formats/tensor_writer.h"
#include "base/outfile_set.h"
#include "formats/ktensor/ktensor_io.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"
#include "tensor/blco.h"

#define WRITER_MEMORY (UINT64_C(1) << 20)

static enum status write_tensor(const struct coo *x, const char *path, struct error *error)
{
    static const struct tensor_write_options options = {
        .text = {.index_base = 1, .header = TNS_HEADER_DIMS}, .memory = WRITER_MEMORY};
    struct tensor_writer writer;
    struct line_writer_report report;
    TRY(tensor_writer_open(&writer, path, &x->shape, x->nnz, &options, error));
    TRY_OR(done, tensor_writer_append(&writer, x, error));
    tensor_writer_commit(&writer, &report, error);
done:
    tensor_writer_free(&writer);
    return error->status;
}

static enum status read_back(const struct coo *x, const char *path, const char *name,
                             struct verdict *f, struct error *error)
{
    static const struct tns_options options = {.index_base = 1};
    struct tensor_input input;
    TRY_OR(done, tensor_input_open(&input, path, &options, NULL, NULL, error));
    TRY_OR(done, tensor_input_read(&input, NULL, error));
    verdict_same_tensor(f, &input.x, x, name);
done:
    tensor_input_close(&input);
    return error->status;
}

/* Scattered nonzeros in alto order, the order in which files are written. */
static enum status make_sorted(struct coo *x, struct error *error)
{
    static const struct shape shape = {4, {300, 17, 4000, 29}};
    static const struct blco_options options = {.kind = ORDERING_ALTO};
    struct coo scattered;
    struct blco b = {0};
    *x = (struct coo){0};
    TRY_OR(done, known_scattered(&scattered, &shape, 20000, 3, 1, error));
    TRY_OR(done, blco_build(&b, &scattered, &options, error));
    blco_to_coo(&b, x, error);
done:
    blco_free(&b);
    coo_free(&scattered);
    return error->status;
}

static enum status check_tensor_file(const struct selftest_place *p, const struct coo *x,
                                     const char *name, struct verdict *f, struct error *error)
{
    char *path = memory_text(error, "%s/%s", p->folder, name);
    if (!path)
        return error->status;
    TRY_OR(done, write_tensor(x, path, error));
    read_back(x, path, name, f, error);
done:
    memory_free(path);
    return error->status;
}

enum status check_tensor_files(const struct selftest_place *p, int which, struct verdict *f,
                               struct error *error)
{
    (void)which;
    static const char *const names[] = {"tensor.tns", "tensor.tns.gz", "tensor.blco"};
    struct coo x;
    TRY_OR(done, make_sorted(&x, error));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TRY_OR(done, check_tensor_file(p, &x, names[i], f, error));
done:
    coo_free(&x);
    return error->status;
}

static enum status write_model(const struct ktensor *k, const char *stem, unsigned format,
                               struct error *error)
{
    struct stem_lock lock;
    struct ktensor_files files = {0};
    TRY(outfile_set_lock(&lock, stem, error));
    ktensor_write(k, NULL, &lock, format, &files, error);
    ktensor_files_free(&files);
    stem_lock_release(&lock);
    return error->status;
}

static enum status check_model_file(const struct selftest_place *p, const struct ktensor *k,
                                    const struct ktensor_format *format, struct verdict *f,
                                    struct error *error)
{
    struct ktensor read = {0};
    const char *name = word_of(ktensor_format_words, (int)format->flag);
    char *stem = memory_text(error, "%s/%s", p->folder, name);
    if (!stem)
        return error->status;
    TRY_OR(done, write_model(k, stem, format->flag, error));
    TRY_OR(done, ktensor_read(&read, stem, 3, error));
    verdict_same_model(f, &read, k, 0, name);
done:
    ktensor_free(&read);
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
