#include "commands/cpd/cpd_times.h"

static double sum_over_modes(const struct cpd_times *times, int op, int order)
{
    double sum = 0;
    for (int n = 0; n < order; n++)
        sum += times->operation[op][n];
    return sum;
}

int cpd_stages(const struct cpd_times *times, int order, double total,
               struct cpd_stage stage[CPD_STAGES])
{
    int count = 0;
    double other = total;
    stage[count++] = (struct cpd_stage){"read", times->read, -1};
    if (times->exchange > 0)
        stage[count++] = (struct cpd_stage){"exchange", times->exchange, -1};
    stage[count++] = (struct cpd_stage){"clean", times->clean, -1};
    for (int op = 0; op < OP_COUNT; op++) {
        double seconds = sum_over_modes(times, op, order);
        const char *name = op == OP_OPEN ? "build" : operation_name((enum operation)op);
        if (op != OP_RESIDUAL || seconds > 0)
            stage[count++] = (struct cpd_stage){name, seconds, op};
    }
    if (times->halves > 0)
        stage[count++] = (struct cpd_stage){"halves", times->halves, -1};
    stage[count++] = (struct cpd_stage){"write", times->write, -1};
    for (int i = 0; i < count; i++)
        other -= stage[i].seconds;
    stage[count++] = (struct cpd_stage){"other", other, -1};
    return count;
}
