/* The last message of a program that ends where no caller can receive an error: in a signal
 * handler, or within a library. */
#pragma once

/* The line begins with the program's name, of 63 bytes at most, which is copied. */
void last_words_begin(const char *program);

/* Prints "PROGRAM: ABOUT: TEXT" to standard error, in place of a text line of progress. Signal
 * handlers may call it. A long line is cut. */
void last_words(const char *about, const char *text);
