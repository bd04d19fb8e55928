# Reads the files of blco into Julia. Copy this file to wherever you need it, and include("load_blco.jl").
#
#   lambda, U = load_blco("x")               # the model with the stem x: U[1] is the factor matrix of mode 1
#   modes, names = load_names("x")           # the names of a model, or of a tensor ("x.tns")
#
# If the stem has several formats, the first of npy and text is read; load_blco("x", "text") reads text.
# modes[n] is the name of mode n, names[n] has the names of its indices; "" and nothing where there are none.
#
# Tensors: blco convert x.blco x.tns, and readdlm("x.tns").
#
# blco-model(5) and blco-csv(5) describe the files.

using DelimitedFiles

function load_blco(stem::AbstractString, format::AbstractString = "")
    format in ("", "npy", "text") || error("format $format, expected npy or text")
    refuse_replacement(stem * ".lock")
    for (kind, ending, read_matrix) in (("npy", ".npy", load_npy), ("text", ".mat", readdlm))
        if format in ("", kind) && isfile(stem * ".mode1" * ending)
            count = findfirst(n -> !isfile(string(stem, ".mode", n + 1, ending)), 1:16)
            U = [read_matrix(string(stem, ".mode", n, ending)) for n in 1:count]
            lambda = vec(read_matrix(string(stem, ".lambda", ending)))
            all(A -> size(A, 2) == length(lambda), U) ||
                error("$stem: $(length(lambda)) weights, but factor matrices of $(size.(U))")
            return lambda, U
        end
    end
    error("no model $stem of format npy or text")
end

function load_names(name::AbstractString)
    endswith(name, ".blco") &&
        error("$name: make text of it first: blco convert $name $(name[1:(end - 5)]).tns")
    stem = replace(name, r"\.(tns|tns\.gz)$" => "")
    refuse_replacement(stem * ".lock")
    modes = something(load_map(stem * ".modes.map"), String[])
    names = Any[load_map(string(stem, ".mode", n, ".map")) for n in 1:16]
    order = max(length(modes), something(findlast(!isnothing, names), 0))
    append!(modes, fill("", order - length(modes)))
    return modes, names[1:order]
end

# The names of a file, nothing where there is none. A line end inside a name is escaped (blco-csv(5)).
function load_map(path)
    isfile(path) || return nothing
    names = readlines(path)
    if !isempty(names) && startswith(names[1], '\ufeff')
        names[1] = names[1][nextind(names[1], 1):end]
    end
    for (escape, text) in ("\\x0a" => "\n", "\\x0d" => "\r", "\\x5c" => "\\") # the backslash comes last
        names = replace.(names, escape => text)
    end
    return names
end

# Refuses a model whose files are being replaced: some may be old and some new (blco-model(5)).
function refuse_replacement(lock)
    isfile(lock) && "replace" in readlines(lock) &&
        error("$lock: the files of this model are being replaced, or a run was killed while it replaced them; " *
              "the next run with this stem makes the model whole")
end

# A NumPy file with an array of doubles of one or two dimensions.
function load_npy(path)
    open(path) do file
        magic = read(file, 8)
        length(magic) == 8 && magic[1:6] == UInt8[147, 78, 85, 77, 80, 89] || error("$path: is no file of NumPy")
        bytes = Int(ltoh(read(file, magic[7] == 1 ? UInt16 : UInt32)))
        header = String(read(file, bytes))
        found = match(r"\(([^)]*)\)", header)
        shape = found === nothing ? Int[] : [parse(Int, number.match) for number in eachmatch(r"[0-9]+", found[1])]
        occursin("'<f8'", header) && length(shape) in (1, 2) ||
            error("$path: expected one or two lengths of doubles: $header")
        values = ltoh.(read!(file, Vector{Float64}(undef, prod(shape))))
        length(shape) == 1 && return values
        occursin(r"'fortran_order': *True", header) && return reshape(values, shape[1], shape[2])
        return permutedims(reshape(values, shape[2], shape[1]))
    end
end
