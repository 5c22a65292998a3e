"""Holds the lock of the pipe of its own input, for about a second at a time.

One thread changes the protection of many mappings, during which the kernel reads no other memory of
this program. Another one writes to the pipe from a page that is not there yet. It prints when that
took long.
"""
import ctypes, os, threading, time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
NOTHING, READ, BOTH = 0, 1, 3
SHARED, PRIVATE, FIXED, ANONYMOUS, UNRESERVED, POPULATED = 1, 2, 16, 32, 0x4000, 0x8000
FORGET = 4

size, count = 128 << 20, 300
file = os.memfd_create("pages")
os.ftruncate(file, size)
area = libc.mmap(None, size * count, NOTHING, PRIVATE | ANONYMOUS | UNRESERVED, -1, 0)
for n in range(count):
    libc.mmap(area + n * size, size, BOTH, SHARED | FIXED | POPULATED, file, 0)
page = libc.mmap(None, 4096, BOTH, PRIVATE | ANONYMOUS, -1, 0)


def change_mappings():
    while True:
        libc.mprotect(area, size * count, READ)
        libc.mprotect(area, size * count, BOTH)


threading.Thread(target=change_mappings, daemon=True).start()
writes = os.open("/proc/self/fd/0", os.O_RDWR | os.O_NONBLOCK)
reads = os.open("/proc/self/fd/0", os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
while True:
    libc.madvise(page, 4096, FORGET)
    began = time.monotonic()
    libc.write(writes, page, 1)
    took = time.monotonic() - began
    if took > 0.3:
        print("held", flush=True)
    try:
        while os.read(reads, 1 << 20):
            pass
    except BlockingIOError:
        pass
