# Makes system calls that no run may make, and some that any may, and prints what became of each as JSON.
import ctypes
import errno
import fcntl
import json
import mmap
import os
import socket
import subprocess
import termios
import threading

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(each) for each in arguments])
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def ends(work):
    """How a child ends that does the work."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"


def by_interrupt():
    """The call `getpid` of programs of 32 bits."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def own_file():
    """A descriptor of a file that nobody else has open."""
    name = f"/tmp/{os.urandom(8).hex()}"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    return os.open(name, os.O_RDONLY)


def option(level, name):
    """Sets an option of a new TCP socket to a value that every option finds too short."""
    with socket.socket() as opened:
        return call(54, opened.fileno(), level, name, 0, 0)


AF_VSOCK, AF_ALG, AF_PACKET, CLONE_NEWUSER = 40, 38, 17, 0x10000000
SOL_SOCKET, IPPROTO_TCP = 1, 6
refused = {
    "socket(AF_VSOCK)": call(41, AF_VSOCK, 1, 0),
    "socket(AF_VSOCK), with a bit that the kernel passes over": call(41, AF_VSOCK | 1 << 32, 1, 0),
    "socketpair(AF_VSOCK)": call(53, AF_VSOCK, 1, 0, 0),
    "socket(AF_ALG)": call(41, AF_ALG, 5, 0),
    "socket(AF_PACKET)": call(41, AF_PACKET, 3, 0),
    "io_uring_setup": call(425, 1, 0),
    "io_uring_enter": call(426, 0, 0, 0, 0, 0, 0),
    "io_uring_register": call(427, 0, 0, 0, 0),
    "add_key": call(248, 0, 0, 0, 0, 0),
    "request_key": call(249, 0, 0, 0, 0),
    "keyctl": call(250, 0, 0),
    "userfaultfd": call(323, 0),
    "unshare(CLONE_NEWUSER)": call(272, CLONE_NEWUSER),
    "clone(CLONE_NEWUSER)": call(56, CLONE_NEWUSER | 17, 0, 0, 0, 0),
    "close_range(CLOSE_RANGE_UNSHARE)": call(436, 1 << 20, 1 << 20, 2),
    "bpf": call(321, 0, 0, 0),
    "perf_event_open": call(298, 0, 0, 0, 0, 0),
    "open_by_handle_at": call(304, 0, 0, 0),
    "mount": call(165, 0, 0, 0, 0, 0),
    "setns": call(308, 0, 0),
    "kexec_load": call(246, 0, 0, 0, 0),
    "ioctl(FS_IOC_FSSETXATTR)": call(16, 0, 0x401C5820, 0),
    "ioctl(FS_IOC_FSSETXATTR), with a bit that the kernel passes over": call(16, 0, 0x401C5820 | 1 << 32, 0),
    "ioctl(FS_IOC_SETFLAGS)": call(16, 0, 0x40086602, 0),
    "fcntl(F_SETLEASE)": call(72, own_file(), 1024, 0),
    "fcntl(F_SETLEASE), with a bit that the kernel passes over": call(72, own_file(), 1024 | 1 << 32, 0),
    "setsockopt(SO_ATTACH_FILTER)": option(SOL_SOCKET, 26),
    "setsockopt(SO_ATTACH_FILTER), with a bit that the kernel passes over": option(SOL_SOCKET | 1 << 32, 26 | 1 << 32),
    "setsockopt(SO_ATTACH_BPF)": option(SOL_SOCKET, 50),
    "setsockopt(SO_ATTACH_REUSEPORT_CBPF)": option(SOL_SOCKET, 51),
    "setsockopt(SO_ATTACH_REUSEPORT_EBPF)": option(SOL_SOCKET, 52),
    "setsockopt(TCP_MD5SIG)": option(IPPROTO_TCP, 14),
    "setsockopt(TCP_MD5SIG_EXT)": option(IPPROTO_TCP, 32),
    "setsockopt(TCP_AO_ADD_KEY)": option(IPPROTO_TCP, 38),
    "fcntl(F_OFD_SETLK)": call(72, own_file(), 37, 0),
    "personality(ADDR_NO_RANDOMIZE)": call(135, 0x0040000),
}
no_time = ctypes.create_string_buffer(16)
other = {
    "clone3": call(435, 0, 0),
    "prctl(PR_SET_SECCOMP)": call(157, 22, 2, 0),
    "prctl(PR_SET_SECCOMP), with a bit that the kernel passes over": call(157, 22 | 1 << 32, 2, 0),
    "seccomp(SECCOMP_SET_MODE_FILTER)": call(317, 1, 0, 0),
    "poll of 1,025": call(7, 0, 1025, 0),
    "ppoll of 1,025": call(271, 0, 1025, 0, 0, 0),
    "select of 1,025": call(23, 1025, 0, 0, 0, ctypes.addressof(no_time)),
    "pselect6 of 1,025": call(270, 1025, 0, 0, 0, ctypes.addressof(no_time), 0),
    "the calls of x32": ends(lambda: call(0x40000000 | 39)),
    "the calls of 32 bits": ends(by_interrupt),
}
polled = ctypes.create_string_buffer(b"\xff" * 8 * 1024)
threads = []
thread = threading.Thread(target=lambda: threads.append("ran"))
thread.start()
thread.join()
allowed = {
    "threads": threads,
    "a child": subprocess.run(["true"]).returncode,
    "sockets": [socket.socket(family, socket.SOCK_DGRAM).family == family for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_NETLINK)],
    "a pair": len(socket.socketpair()),
    "closing descriptors": call(436, 1 << 20, 1 << 20, 0),
    "calls on descriptors": [fcntl.fcntl(0, fcntl.F_GETFD), fcntl.fcntl(os.pipe()[0], 1032) > 0],
    "waiting for 1,024": [call(7, ctypes.addressof(polled), 1024, 0), call(23, 1024, 0, 0, 0, ctypes.addressof(no_time))],
    "options of sockets": [option(SOL_SOCKET, 2), option(IPPROTO_TCP, 1), option(0, 2)],
    "a name and no new privileges": [call(157, 15, ctypes.addressof(no_time)), call(157, 38, 1, 0, 0, 0)],
    "a device call": fcntl.ioctl(socket.socketpair()[0], termios.FIONREAD, bytes(4)).hex(),
}
print(json.dumps({"refused": refused, "other": other, "allowed": allowed}))
