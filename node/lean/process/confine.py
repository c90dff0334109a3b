"""Confines this process and then becomes PROGRAM:

    confine PARENT MECHANISMS COUNT WRITABLE... COUNT READABLE... COUNT LISTED... PROGRAM ARGUMENTS...

Like `common/life/keeper.py`, it dies with PARENT. Before that it applies MECHANISMS (separated by commas) to this
process and its descendants. WRITABLE: folders that stay readable and writable. READABLE: files and folders that stay
readable, and from which programs may be started; those that do not exist are passed over. LISTED: folders whose names
stay readable. Each COUNT is the number of paths that follow it.

    namespace   a new user and network namespace, without even a loopback interface
    mounts      a new user and mount namespace, in which everything except WRITABLE is mounted read-only
    root        the same with a new root, in which there is nothing but WRITABLE and, read-only, READABLE
    landlock    files outside WRITABLE cannot be written, created or removed; no signals to processes outside
    reads       files outside WRITABLE and READABLE cannot be opened, folders not listed, programs not started
    network     system calls that create sockets fail (seccomp)
    processes   system calls that create processes or leave the process group fail (seccomp); threads are allowed

If a step fails, this process ends with a message, so nothing runs with fewer protections than MECHANISMS names.
It uses only a small part of the standard library, because it runs before every Lean. Linux only.
"""

import ctypes
import os
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)

# linux/prctl.h, linux/sched.h, linux/mount.h, linux/landlock.h, linux/seccomp.h
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 1, 22, 38, 2
CLONE_NEWNS, CLONE_THREAD, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
MOUNT_SETATTR, MOUNT_ATTR_RDONLY, AT_RECURSIVE, AT_FDCWD = 442, 1, 0x8000, -100
OPEN_TREE, MOVE_MOUNT, OPEN_TREE_CLONE, AT_EMPTY_PATH, MOVE_MOUNT_F_EMPTY_PATH = 428, 429, 1, 0x1000, 4
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT, LANDLOCK_VERSION = 444, 445, 446, 1

WRITE_FILE, REFER, TRUNCATE, IOCTL_DEV = 1 << 1, 1 << 13, 1 << 14, 1 << 15
WRITING = WRITE_FILE | 0b1111111110000
"""LANDLOCK_ACCESS_FS_*: WRITE_FILE, REMOVE_DIR, REMOVE_FILE and all MAKE_*. Reading and executing stay allowed."""
EXECUTE, READ_FILE, READ_DIR = 1, 1 << 2, 1 << 3
OWN_PROCESS = "/proc/self"
"""What this process may read of itself: the C library finds the size of its stack there, and Lean its own path. It has
the same id as the program that it becomes."""
SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 1, 2
SIGKILL = 9
"""Importing `signal` would take 5 ms."""
LEAST_LANDLOCK = 3
"""The first version that covers truncation. With an older one, files could still be truncated."""

SYSCALLS = {
    "x86_64": (0xC000003E, {"socket": 41, "clone": 56, "fork": 57, "vfork": 58, "setpgid": 109, "setsid": 112}),
    "aarch64": (0xC00000B7, {"socket": 198, "clone": 220, "setpgid": 154, "setsid": 157}),
}
"""AUDIT_ARCH_* and numbers of system calls (asm/unistd.h)."""
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
IO_URING_SETUP, CLONE3 = 425, 435
"""Numbers of these calls on both architectures. An io_uring could create sockets, and the filter cannot read the flags
of clone3."""
ALLOW, REFUSE, NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
"""SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM; the same with ENOSYS, after which the C library uses clone."""


class Unavailable(Exception):
    """This system does not support a mechanism. The text says which one, and why."""


def checked(result: int, call: str) -> int:
    """The result of a C call. Raises Unavailable if it failed."""
    if result < 0:
        raise Unavailable(f"{call}: {os.strerror(ctypes.get_errno())}")
    return result


def enter_namespaces(flags: int) -> None:
    """Enter a new user namespace, in which this user keeps its ids, and the other namespaces in `flags`."""
    user, group = os.geteuid(), os.getegid()
    checked(libc.unshare(CLONE_NEWUSER | flags), "unshare")
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib would double the start-up
                file.write(text)
    except OSError as error:
        raise Unavailable(f"user namespace: {error}") from error


def mount_read_only(writable: list[str]) -> None:
    """Make all mounts read-only, except the `writable` folders. Each of these is first mounted onto itself."""
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    for folder in writable:
        checked(libc.mount(os.fsencode(folder), os.fsencode(folder), None, MS_BIND, None), f"mount {folder}")
    _mount_attributes("/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)
    for folder in writable:
        _mount_attributes(folder, 0, 0, MOUNT_ATTR_RDONLY)


def new_root(writable: list[str], readable: list[str]) -> None:
    """Make a new root folder that has only these paths, at their old places. The old root is not reachable any more."""
    # 1. Take hold of each path while it can be reached. Of a link, both its own path and its end are needed.
    process = os.path.realpath(OWN_PROCESS)
    paths = [(path, False) for path in (*readable, process) if os.path.exists(path)]  # noqa: PTH110
    paths += [(path, True) for path in writable]
    held = []
    for path, writes in paths:
        real = os.path.realpath(path)
        held.append((path, real, os.path.isdir(real), _detached(real, writes)))  # noqa: PTH112
    # 2. Become root of an empty file system.
    if machine_name() not in PIVOT_ROOT:
        raise Unavailable(f"pivot_root: not supported on {machine_name()}, only on {' and '.join(PIVOT_ROOT)}")
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    checked(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755"), "mount tmpfs")
    os.chdir("/tmp")
    checked(libc.syscall(PIVOT_ROOT[machine_name()], b".", b"."), "pivot_root")
    checked(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    # 3. Put each path at its place, outer folders first.
    for _, real, is_folder, tree in sorted(held, key=lambda each: len(each[1])):
        if not os.path.lexists(real):
            _make(real, is_folder)
        code = libc.syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(real), MOVE_MOUNT_F_EMPTY_PATH)
        checked(code, f"move_mount {real}")
        os.close(tree)
    # 4. Make the links, in the order of their length: the path of one may lead through another.
    links = [(path, real) for path, real, *_ in held if path != real] + [(OWN_PROCESS, process)]
    for path, real in sorted(links, key=lambda each: len(each[0])):
        if not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            os.symlink(real, path)  # noqa: PTH211
    _mount_attributes("/", 0, MOUNT_ATTR_RDONLY, 0)


def _make(path: str, is_folder: bool) -> None:
    """Make an empty folder or file to mount onto."""
    os.makedirs(path if is_folder else os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    if not is_folder:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _detached(path: str, writes: bool) -> int:
    """A copy of what is mounted at and below a path, as a file descriptor."""
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_RECURSIVE
    tree = checked(int(libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)), f"open_tree {path}")
    if not writes:
        attributes = struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
        code = libc.syscall(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, attributes, len(attributes))
        checked(code, f"mount_setattr {path}")
    return tree


def _mount_attributes(path: str, flags: int, set_: int, clear: int) -> None:
    attributes = struct.pack("QQQQ", set_, clear, 0, 0)
    code = libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes))
    checked(code, "mount_setattr")


def landlock(writable: list[str]) -> None:
    """Forbid writing outside the `writable` folders (and /dev/null), and signals to processes outside."""
    version = _landlock_version()
    if version < LEAST_LANDLOCK:
        raise Unavailable(f"landlock: this kernel has version {version}, but version {LEAST_LANDLOCK} is needed")
    rights = WRITING | REFER | TRUNCATE | (IOCTL_DEV if version >= 5 else 0)
    scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL if version >= 6 else 0
    ruleset = struct.pack("QQQ", rights, 0, scoped)[: 24 if version >= 6 else 8]
    rules = checked(libc.syscall(LANDLOCK_CREATE, ruleset, len(ruleset), 0), "landlock")
    for folder in writable:
        _allow(rules, folder, rights)
    _allow(rules, "/dev/null", rights & (WRITE_FILE | TRUNCATE | IOCTL_DEV))
    checked(libc.syscall(LANDLOCK_RESTRICT, rules, 0), "landlock")
    os.close(rules)


def landlock_reads(writable: list[str], readable: list[str], listed: list[str]) -> None:
    """Forbid opening files, listing folders and starting programs, except for these paths and what is below them."""
    _landlock_version()
    ruleset = struct.pack("Q", EXECUTE | READ_FILE | READ_DIR)
    rules = checked(libc.syscall(LANDLOCK_CREATE, ruleset, len(ruleset), 0), "landlock")
    for folder in writable:
        _allow(rules, folder, READ_FILE | READ_DIR)
    for folder in listed:
        _allow(rules, folder, READ_DIR)
    for path in (*readable, OWN_PROCESS):
        if os.path.isdir(path):  # noqa: PTH112
            _allow(rules, path, EXECUTE | READ_FILE | READ_DIR)
        elif os.path.exists(path):  # noqa: PTH110
            _allow(rules, path, EXECUTE | READ_FILE)
    checked(libc.syscall(LANDLOCK_RESTRICT, rules, 0), "landlock")
    os.close(rules)


def _landlock_version() -> int:
    return checked(libc.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION), "landlock")


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from error
    checked(libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", rights, file), 0), f"landlock: {path}")
    os.close(file)


def refuse(network: bool, processes: bool) -> None:
    """Install a seccomp filter that makes the system calls for `network` or `processes` fail."""
    machine = machine_name()
    if machine not in SYSCALLS:
        raise Unavailable(f"seccomp: not supported on {machine}, only on {' and '.join(SYSCALLS)}")
    architecture, numbers = SYSCALLS[machine]
    refused = [numbers["socket"], IO_URING_SETUP] if network else []
    if processes:
        refused += [numbers[name] for name in ("fork", "vfork", "setpgid", "setsid") if name in numbers]
    program = _filter(architecture, refused, numbers["clone"] if processes else None)
    buffer = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0), "seccomp")


def _filter(architecture: int, refused: list[int], clone: int | None) -> bytes:
    """Classic BPF over `struct seccomp_data` (nr at 0, arch at 4, low half of the first argument at 16)."""
    load, equal, any_bit, at_least, answer = 0x20, 0x15, 0x45, 0x35, 0x06
    lines = [(load, 0, 0, 4), (equal, 1, 0, architecture), (answer, 0, 0, REFUSE), (load, 0, 0, 0)]
    lines += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, REFUSE)]  # the x32 ABI has other numbers for these calls
    for number in refused:
        lines += [(equal, 0, 1, number), (answer, 0, 0, REFUSE)]
    if clone is not None:
        lines += [(equal, 0, 1, CLONE3), (answer, 0, 0, NO_SUCH_CALL)]
        lines += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 1, 0, CLONE_THREAD), (answer, 0, 0, REFUSE)]
    lines.append((answer, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def machine_name() -> str:
    """`x86_64`, `aarch64`, ..."""
    return os.uname().machine


def confine(mechanisms: list[str], writable: list[str], readable: list[str], listed: list[str]) -> None:
    """Apply the mechanisms to this process. Raises Unavailable."""
    mounts = "mounts" in mechanisms or "root" in mechanisms
    flags = (CLONE_NEWNET if "namespace" in mechanisms else 0) | (CLONE_NEWNS if mounts else 0)
    if flags:
        enter_namespaces(flags)
    if "root" in mechanisms:
        try:
            new_root(writable, readable)
        except OSError as error:
            raise Unavailable(f"new root: {error}") from error
    elif mounts:
        mount_read_only(writable)
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if "landlock" in mechanisms:
        landlock(writable)
    if "reads" in mechanisms:
        landlock_reads(writable, readable, listed)
    if "network" in mechanisms or "processes" in mechanisms:
        refuse("network" in mechanisms, "processes" in mechanisms)


def main(parent: int, mechanisms: list[str], rest: list[str]) -> None:
    """Confine this process, and become the program. If that fails, end the process with a message.

    `rest`: the arguments from the first COUNT on.
    """
    paths: list[list[str]] = []
    for _ in range(3):
        end = 1 + int(rest[0])
        paths.append(rest[1:end])
        rest = rest[end:]
    try:
        confine(mechanisms, *paths)
    except Unavailable as error:
        sys.exit(f"not confined: {error}")
    # After entering the namespaces, because a change of credentials resets this setting.
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent process has ended")
    try:
        os.execvp(rest[0], rest)
    except OSError as error:
        hidden = "reads" in mechanisms or "root" in mechanisms
        sys.exit(f"{rest[0]}: {error.strerror}{' (or this process may not read the program)' if hidden else ''}")
