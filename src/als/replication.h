/* Replication: are the components of a model found again where a part of its tensor is left out?
 * Each replicate is a model of the tensor without one part of the slices of a mode. A component
 * that only some slices lead to is no property of the data (R. A. Harshman, W. S. DeSarbo: *An
 * application of PARAFAC to a small sample problem, demonstrating preprocessing, orthogonality
 * constraints, and split-half diagnostic techniques*, in Research Methods for Multimode Data
 * Analysis, Praeger, 1984). With two parts the replicates are the halves of split-half analysis. */
#pragma once

#include "als/runs.h"
#include "ranks/rank_tensor.h"

/* A component is found again if its score (struct replicated_component) is this or more. A factor
 * match score is the product of the cosines of all modes but that of the parts: of three modes
 * about 0.95 in each, from which on columns count as equal (the paper that runs.h names). */
#define REPLICATES_ALIKE 0.9

enum replication_state {
    REPLICATION_ENDED,     /* the run ended before all replicates had their models */
    REPLICATION_BREAKDOWN, /* no start of a replicate gave a model; the later ones were not made */
    REPLICATION_WHOLE      /* all replicates were compared                          */
};

/* A component of the whole. Its partner in a replicate is the component that ktensor_match pairs
 * with it. Scores are without weights, since some slices may have more of a component. */
struct replicated_component {
    double score;  /* of the scores of its partners in the replicates of a division with each other,
                    * and its own with each of them, the least; the median over the divisions */
    double median; /* of its own scores with its partners in all replicates                 */
    double pair;   /* the least score of two of its partners; infinite where none were compared */
    double cosine[MAX_ORDER]; /* [i]: of these two, in mode `mode[i]`, without its sign         */
};

/* What the replicates say. */
struct replication {
    struct slice_parts parts; /* mode 0: there are no replicates, and the rest is empty           */
    int replicates;           /* how many were asked for                                          */
    const uint64_t *nonzeros; /* (replicates): of each; borrowed                                  */
    const struct starts *starts; /* (replicates): of each; borrowed                               */
    enum replication_state state;
    int made; /* so many replicates, the first ones, have the models of all their starts       */
    size_t pairs;  /* of replicates of one division, both of which were made  */
    double *score; /* (pairs) the factor match scores of their models: by division, in each
                    * replicates 1 and 2, 1 and 3, ..., 2 and 3, ...; owned                     */
    double least, median, greatest;         /* of these scores; NaN without pairs                 */
    uint64_t rank;                          /* R of all models; 0 without pairs                   */
    int order, mode[MAX_ORDER];             /* the modes that are compared, from 0                */
    struct replicated_component *component; /* (R) of the whole; owned                          */
    double *with; /* (R x replicates) the score of each component with its partner in each replicate
                   * that was made; owned                                                       */
    uint64_t weakest; /* the component of the whole with the least score                          */
    uint64_t alike; /* how many components of the whole are found again                          */
};

/* Counts the nonzeros of the replicates of t, whose nonzeros have been read, and refuses a tensor
 * that cannot be divided so: each part has nonzeros. Every rank calls it. STATUS_INPUT,
 * STATUS_MEMORY, and failures of other ranks. */
enum status replication_check(struct run_list *list, const struct rank_tensor *t,
                              struct error *error);

/* On the rank that has the whole models, after decompose: compares those of the replicates that
 * were made, which it frees, with each other and with `model`, that of the whole tensor. *s borrows
 * from the runs. The caller frees *s with replication_free, after a failure too. STATUS_MEMORY. */
enum status replication_compare(struct replication *s, struct runs *runs,
                                const struct ktensor *model, struct error *error);

/* Accepts an empty one. */
void replication_free(struct replication *s);
