/* Whether this build has a sanitizer: what is freed then stays for a while, and all takes ten times
 * as long. */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#elif __has_feature(thread_sanitizer)
#define SANITIZED         1
#define SANITIZED_THREADS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#ifndef SANITIZED_THREADS
#define SANITIZED_THREADS 0
#endif

/* Of allocations that fail in turn. What is left undone then has nothing to do with threads, so
 * that their sanitizer need not see every one. */
#define ALLOCATION_STEP (SANITIZED_THREADS ? 23 : 1)
