import array
import os
import socket


def send_in_a_circle(links, held):
    """Puts descriptors on their way, each in the queue of the next, and the last in its own. How many.

    No process holds them any more.
    """

    def pass_on(through, descriptors):
        through.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])

    made = 0
    try:
        while made < links:
            one, other = socket.socketpair()
            pass_on(one, held)
            for descriptor in held:
                os.close(descriptor)
            one.close()
            held, made = [other.detach()], made + 1
    except OSError:
        pass
    one, other = socket.socketpair()
    pass_on(one, [other.fileno(), *held])
    # Not closed before the process ends: what the kernel finds then is taken apart by nobody's
    # leave.
    until_the_end.extend((one, other))
    return made


until_the_end = []


tail = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
tail.bind("\0left-behind")
