import os
import signal

seen = []
signal.signal(signal.SIGCHLD, lambda *_: seen.append("child"))
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
print(seen)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
os.kill(os.getpid(), signal.SIGUSR2)
print(signal.sigpending() == {signal.SIGUSR2}, signal.sigwait({signal.SIGUSR2}).name)
