# Reads the files of blco into R. Copy this file to wherever you need it, and source("load_blco.R").
#
#   model <- load_blco("x")           # the model with the stem x
#   model$lambda                      # its R weights
#   model$U[[1]]["ann", ]             # a row of the factor matrix of mode 1, by name or by number from 1
#   found <- load_names("x.tns")      # the names of a tensor, or of a model ("x")
#   found$modes[1]; found$names[[1]]  # of mode 1, and of its indices
#
# If the stem has several formats, the first of npy, ktns, text and csv is read; load_blco("x", "text")
# reads text, whose numbers R may read with an error in the last bit. load_blco("x", "text", 3) reads three
# factor matrices. U has the names of the modes, and its matrices have those of the indices as row names,
# where there are such.
#
# Tensors: blco convert x.blco x.tns, and read.table("x.tns").
#
# blco-model(5) and blco-csv(5) describe the files.

load_blco <- function(stem, format = NULL, modes = 0) {
  first <- c(npy = ".mode1.npy", ktns = ".ktns", text = ".mode1.mat", csv = ".mode1.csv")
  if (!is.null(format) && !(format %in% names(first)))
    stop("format ", format, ", expected one of npy, ktns, text and csv")
  if (endsWith(stem, ".ktns")) {
    stem <- substr(stem, 1, nchar(stem) - 5)
    format <- "ktns"
  }
  .blco_refuse_replacement(paste0(stem, ".lock"))
  kinds <- if (is.null(format)) names(first) else format
  kind <- kinds[file.exists(paste0(stem, first[kinds]))][1]
  if (is.na(kind))
    stop("no model ", stem, " of format ", paste(kinds, collapse = ", "))
  model <- if (kind == "ktns") .blco_ktns(paste0(stem, ".ktns")) else .blco_matrices(stem, kind, modes)
  .blco_named(model, stem, load_names(stem))
}

load_names <- function(name) {
  if (endsWith(name, ".blco"))
    stop(name, ": make text of it first: blco convert ", name, " ", sub("blco$", "tns", name))
  stem <- sub("\\.(tns|tns\\.gz|ktns)$", "", name)
  .blco_refuse_replacement(paste0(stem, ".lock"))
  modes <- .blco_map(paste0(stem, ".modes.map"))
  names <- lapply(1:16, function(n) .blco_map(sprintf("%s.mode%d.map", stem, n)))
  order <- max(length(modes), which(!vapply(names, is.null, NA)))
  list(modes = c(modes, rep("", order - length(modes))), names = names[seq_len(order)])
}

# The names of a file, NULL where there is none. A line end inside a name is escaped (blco-csv(5)).
.blco_map <- function(path) {
  if (!file.exists(path))
    return(NULL)
  names <- readLines(path, warn = FALSE)
  if (!l10n_info()[["UTF-8"]]) # else readLines has dropped the mark of UTF-8
    names[1] <- sub("^\xef\xbb\xbf", "", names[1], useBytes = TRUE)
  escapes <- c("\\x0a" = "\n", "\\x0d" = "\r", "\\x5c" = "\\") # the backslash comes last
  for (escape in base::names(escapes))
    names <- gsub(escape, escapes[[escape]], names, fixed = TRUE, useBytes = TRUE)
  Encoding(names) <- "UTF-8"
  names
}

# Refuses a model whose files are being replaced: some may be old and some new (blco-model(5)).
.blco_refuse_replacement <- function(lock) {
  if (file.exists(lock) && "replace" %in% readLines(lock, warn = FALSE))
    stop(lock, ": the files of this model are being replaced, or a run was killed while it replaced them; ",
         "the next run with this stem makes the model whole")
}

# Gives the model its names.
.blco_named <- function(model, stem, found) {
  for (n in seq_along(model$U)) {
    shape <- dim(model$U[[n]])
    if (shape[2] != length(model$lambda))
      stop(sprintf("%s: mode %d has %d columns, but there are %d weights", stem, n, shape[2], length(model$lambda)))
    names <- if (n <= length(found$names)) found$names[[n]]
    if (!is.null(names) && length(names) != shape[1])
      stop(sprintf("%s.mode%d.map: %d names, expected %.0f", stem, n, length(names), shape[1]))
    dimnames(model$U[[n]]) <- if (!is.null(names)) list(names, NULL)
  }
  if (any(found$modes != ""))
    names(model$U) <- found$modes[seq_along(model$U)]
  model
}

.blco_matrices <- function(stem, kind, modes) {
  ending <- c(npy = ".npy", text = ".mat", csv = ".csv")[[kind]]
  read <- list(npy = .blco_npy, text = .blco_text, csv = .blco_csv)[[kind]]
  path <- function(n) sprintf("%s.mode%d%s", stem, n, ending)
  if (modes == 0)
    while (file.exists(path(modes + 1)))
      modes <- modes + 1
  list(lambda = as.vector(read(paste0(stem, ".lambda", ending))), U = lapply(seq_len(modes), function(n) read(path(n))))
}

.blco_text <- function(path) {
  unname(as.matrix(utils::read.table(path, colClasses = "numeric", comment.char = "")))
}

# The numbers of CSV with a header and a first column of names.
.blco_csv <- function(path) {
  unname(as.matrix(utils::read.csv(path, check.names = FALSE)[-1]))
}

# A NumPy file with an array of doubles of one or two dimensions.
.blco_npy <- function(path) {
  file <- file(path, "rb")
  on.exit(close(file))
  magic <- readBin(file, "raw", 8)
  if (length(magic) < 8 || !identical(magic[1:6], as.raw(c(147, 78, 85, 77, 80, 89))))
    stop(path, ": is no file of NumPy")
  size <- if (magic[7] == as.raw(1)) 2 else 4
  header <- readChar(file, readBin(file, "integer", 1, size, signed = size > 2, endian = "little"), useBytes = TRUE)
  shape <- as.numeric(strsplit(sub(".*\\(([^)]*)\\).*", "\\1", header), ",")[[1]])
  shape <- shape[!is.na(shape)]
  if (!grepl("'<f8'", header, fixed = TRUE) || !(length(shape) %in% 1:2))
    stop(path, ": expected one or two lengths of doubles: ", header)
  values <- readBin(file, "double", prod(shape), endian = "little")
  if (length(values) != prod(shape))
    stop(path, ": ends where ", prod(shape), " numbers are expected")
  if (length(shape) == 1)
    return(values)
  matrix(values, shape[1], shape[2], byrow = !grepl("'fortran_order': *True", header))
}

# The `ktensor` text of Tensor Toolbox: words and numbers separated by blanks.
.blco_ktns <- function(path) {
  words <- scan(path, what = "", quiet = TRUE)
  at <- 0
  take <- function(count) {
    if (at + count > length(words))
      stop(path, ": ends where ", count, " numbers are expected")
    at <<- at + count
    words[seq_len(count) + at - count]
  }
  expect <- function(expected) {
    found <- take(1)
    if (found != expected)
      stop(path, ": ", found, ", expected ", expected)
  }
  expect("ktensor")
  shape <- as.numeric(take(as.numeric(take(1))))
  rank <- as.numeric(take(1))
  lambda <- as.numeric(take(rank))
  U <- lapply(shape, function(length) {
    for (word in c("matrix", "2", sprintf("%.0f", length), rank))
      expect(word)
    matrix(as.numeric(take(length * rank)), length, rank, byrow = TRUE)
  })
  list(lambda = lambda, U = U)
}
