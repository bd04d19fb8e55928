/* Short rows that are solved in shared memory, all of a window at once: their systems need no
 * matrix of R x R. */
#ifndef BLCO_SHORT_WINDOW_CUH
#define BLCO_SHORT_WINDOW_CUH

#include "kernels/rows/short_rows.cuh"
#include "numerics/vector.cuh"

/* A warp's room. The stride keeps the lanes of a column apart. */
template <int COLUMNS> struct short_room {
    static constexpr int LD = COLUMNS + 1;
    double z[WARP * LD]; /* (nonzero, component)            */
    short_row row[WARP]; /* those that are solved, by slots */
};

template <int COLUMNS_OF> struct short_window : short_rows {
    static constexpr int COLUMNS = COLUMNS_OF;
    static constexpr int LD = short_room<COLUMNS>::LD;
    short_room<COLUMNS> &shared;

    __device__ __forceinline__ short_window(const row_systems_args &args, short_room<COLUMNS> &of)
        : short_rows(args, of.row), shared(of)
    {
    }

    template <typename T>
    __device__ __forceinline__ vector<T> read(const void *rows, uint64_t i, uint32_t v) const
    {
        return __ldg(static_cast<const vector<T> *>(rows) + i * a.mttkrp.vectors + v);
    }

    template <typename T, int WIDTH>
    __device__ __forceinline__ static void multiply(double (&x)[WIDTH], const vector<T> &by)
    {
        const T *entry = reinterpret_cast<const T *>(&by);
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            x[e] *= static_cast<double>(entry[e]);
    }

    /* Of rows of entries of type T: lanes take vectors, of several rows at once. */
    template <typename T> struct lanes_of {
        static constexpr int WIDTH = VECTOR_BYTES / sizeof(T), VECTORS = COLUMNS / WIDTH;
        static constexpr int AT_ONCE = WARP / VECTORS;
    };

    /* Multiplies z by this lane's part of the rows that LOADS nonzeros gather, from nonzero `from`
     * on, by the gathers `first` to `first` + GATHERS - 1: all these rows are on their way at once.
     */
    template <typename T, int GATHERS, int LOADS, int WIDTH>
    __device__ __forceinline__ void multiply_rows(double (&z)[LOADS][WIDTH], int first,
                                                  int from) const
    {
        constexpr int VECTORS = lanes_of<T>::VECTORS, AT_ONCE = lanes_of<T>::AT_ONCE;
        const uint32_t v = min(lane % VECTORS, static_cast<int>(a.mttkrp.vectors) - 1);
        const int spare = __ffs(static_cast<int>(solved)) - 1; /* read where nothing is needed */
        vector<T> part[GATHERS][LOADS];
#pragma unroll
        for (int n = 0; n < GATHERS; n++) {
            const mttkrp_gather &gather = a.mttkrp.gather[first + n];
            const uint32_t mine = coordinate_at(gather.field, index, base);
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const int j = from + k * AT_ONCE;
                const uint32_t i = __shfl_sync(ALL, mine, solved >> j & 1 ? j : spare);
                part[n][k] = read<T>(gather.rows, i, v);
            }
        }
#pragma unroll
        for (int n = 0; n < GATHERS; n++)
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                multiply<T>(z[k], part[n][k]);
    }

    /* Fills z of the nonzeros that are solved. */
    template <typename T> __device__ __forceinline__ void gather() const
    {
        constexpr int WIDTH = lanes_of<T>::WIDTH, VECTORS = lanes_of<T>::VECTORS;
        constexpr int AT_ONCE = lanes_of<T>::AT_ONCE, LOADS = VECTORS < 8 ? VECTORS : 8;
        const int r = lane % VECTORS * WIDTH;
#pragma unroll 1
        for (int from = lane / VECTORS; from < WARP; from += LOADS * AT_ONCE) {
            double z[LOADS][WIDTH];
#pragma unroll
            for (int k = 0; k < LOADS; k++)
#pragma unroll
                for (int e = 0; e < WIDTH; e++)
                    z[k][e] = 1;
            if (a.mttkrp.gathers == 2) {
                multiply_rows<T, 2>(z, 0, from);
            } else {
#pragma unroll 1
                for (int n = 0; n < a.mttkrp.gathers; n++)
                    multiply_rows<T, 1>(z, n, from);
            }
#pragma unroll
            for (int k = 0; k < LOADS; k++)
#pragma unroll
                for (int e = 0; e < WIDTH; e++)
                    shared.z[(from + k * AT_ONCE) * LD + r + e] = z[k][e];
        }
    }

    /* old (slot, component) = the old rows of those that are solved. */
    template <typename T> __device__ __forceinline__ void gather_old(double *old) const
    {
        constexpr int WIDTH = lanes_of<T>::WIDTH, VECTORS = lanes_of<T>::VECTORS;
        const uint32_t v = min(lane % VECTORS, static_cast<int>(a.mttkrp.vectors) - 1);
        const int r = lane % VECTORS * WIDTH;
        double now[WIDTH];
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            now[e] = r + e < static_cast<int>(a.rank) ? __ldg(a.common.now + r + e) : 0;
#pragma unroll 4
        for (int s = lane / VECTORS; s < rows; s += lanes_of<T>::AT_ONCE) {
            double x[WIDTH];
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                x[e] = now[e];
            multiply<T>(x, read<T>(a.old, shared.row[s].number, v));
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                old[s * LD + r + e] = x[e];
        }
    }

    /* Writes the new rows: entries_of(s, r, x) gives entries r to r + WIDTH - 1 of that of slot s;
     * what it gives beyond the rank counts nothing. */
    template <typename T, typename F> __device__ __forceinline__ void write_as(F &&entries_of) const
    {
        constexpr int WIDTH = lanes_of<T>::WIDTH, VECTORS = lanes_of<T>::VECTORS;
        const uint32_t v = lane % VECTORS, r = v * WIDTH;
        if (r >= a.rank)
            return;
        for (int s = lane / VECTORS; s < rows; s += lanes_of<T>::AT_ONCE) {
            double entry[WIDTH];
            vector<T> part;
            T *x = reinterpret_cast<T *>(&part);
            entries_of(s, r, entry);
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                x[e] = r + e < a.rank ? static_cast<T>(entry[e]) : 0;
            static_cast<vector<T> *>(
                a.mttkrp.m)[static_cast<uint64_t>(shared.row[s].number) * a.mttkrp.vectors + v] =
                part;
        }
    }

    template <typename F> __device__ __forceinline__ void write(F &&entries_of) const
    {
        if (a.mttkrp.precision == PRECISION_SINGLE)
            write_as<float>(entries_of);
        else
            write_as<double>(entries_of);
    }

    /* x[e] = the sum of of[i] z_(r + e) over the nonzeros of a row; z: as in the room. */
    template <int WIDTH>
    __device__ __forceinline__ static void sums_of(const short_row &row, const double *of,
                                                   const double *z, uint32_t r, double (&x)[WIDTH])
    {
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            x[e] = 0;
#pragma unroll 2
        for (int i = row.first; i < row.first + row.length; i++)
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                x[e] = fma(of[i], z[i * LD + r + e], x[e]);
    }

    /* As that of all short rows; z of the present window is there. */
    template <typename F> __device__ __forceinline__ bool walk(uint32_t span, F &&solve)
    {
        return short_rows::walk(span, [&] {
            if (a.mttkrp.precision == PRECISION_SINGLE)
                gather<float>();
            else
                gather<double>();
            __syncwarp();
            return solve();
        });
    }
};

#endif
