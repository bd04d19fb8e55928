# As loaded.py, of load_blco.R, which reads no tensors. Usage: Rscript loaded.R LOADERS models STEM | names NAME |
# refuse NAME. models: text is read up to the last bit.
arguments <- commandArgs(trailingOnly = TRUE)
source(file.path(arguments[1], "load_blco.R"))
names <- arguments[-(1:2)]
if (arguments[2] == "models") {
  model <- load_blco(names[1])
  stopifnot(length(model$lambda) > 0, length(model$U) > 0)
  for (format in c("npy", "text", "ktns", "csv")) {
    other <- load_blco(names[1], format)
    stopifnot(identical(lapply(other$U, dimnames), lapply(model$U, dimnames)), identical(names(other$U), names(model$U)),
              all.equal(other, model, tolerance = if (format == "npy") 0 else 1e-15))
  }
  cat(names(model$U), "\n")
  for (U in model$U)
    cat(rownames(U), sep = "|", "\n")
  file <- file("loaded.bin", "wb")
  for (array in c(list(model$lambda), lapply(model$U, t)))
    writeBin(as.vector(array), file)
  close(file)
} else if (arguments[2] == "names") {
  found <- load_names(names[1])
  if (length(found$modes) > 0)
    cat(found$modes, sep = " ", fill = TRUE)
  for (of_mode in found$names)
    cat(paste(of_mode, collapse = "|"), sep = "\n")
} else {
  tryCatch({
    do.call(load_blco, as.list(names))
    cat("nothing was refused\n")
  }, error = function(problem) cat(conditionMessage(problem), "\n"))
  quit(status = 1)
}
