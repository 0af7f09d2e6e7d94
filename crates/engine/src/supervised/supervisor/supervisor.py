"""PID 1 of a reused container. It runs one guest at a time, and is between the guest and the host.

    boot:  give up rights ─► load tools and preloads (harness) ─► "ready" ─► fork the first guest
    use:   host ─stdin─► guest's channel       guest's channel, stdout, stderr ─► host, as "output"
    reset: kill everything ─► empty every place it could write to ─► look again
           ─► fork the next guest ─► "reset_done"

Messages are JSON, one object a line. Each is followed by as many raw bytes as it says. Only this
process holds the container's own stdin and stdout, so a guest cannot speak for it. But a guest has
the same user id and shares its kernel objects. Hence:

* No guest can trace it or read its memory, because it is not dumpable. No guest can signal it,
  because the kernel drops signals to PID 1 that it has no handler for.
* It holds requests and answers only in two buffers. They are wiped after each use, because the next
  guest is a copy of this process.
* It never assumes that a place is empty, but looks. It tells the host when it cannot be sure.

    rights.py     what is given up
    host.py       the container's stdin and stdout
    meter.py      what the kernel counts
    guest.py      the process of one use
    renewal.py    undoes what a guest did
    questions.py  answers the kernel about sockets and locks before they are made
    egress.py     the listener for the proxy
    stdin.py      what the guest reads from descriptor 0
    clerk.py      files into the workspace, and out of it

It uses only the standard library, and runs on CPython 3.9 and later.
"""

import importlib.util
import json
import os
import select
import signal
import sys
import time

HOME = os.path.dirname(os.path.abspath(__file__))


def _load(name):
    """Loads another file of this program. It does not use `import`: that path belongs to guests."""
    spec = importlib.util.spec_from_file_location(f"belljar_{name}", f"{HOME}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"belljar_{name}"] = module
    spec.loader.exec_module(module)
    return module


def _load_harness():
    """Loads the package that runs scripts. It imports its parts, so the path leads here for now."""
    sys.path.append(HOME)
    import belljar_harness

    sys.path.remove(HOME)
    return belljar_harness


# The order matters: each uses those before it.
rights, meter, Host = _load("rights"), _load("meter"), _load("host").Host
_guest = _load("guest")
renewal, egress, questions = _load("renewal"), _load("egress"), _load("questions")
Clerk, Stdin = _load("clerk").Clerk, _load("stdin").Stdin
Guest, kill_all, signal_all, reap = _guest.Guest, _guest.kill_all, _guest.signal_all, _guest.reap

#: Seconds between two reports of processor time while something runs.
CLOSEST_LOOK, WIDEST_LOOK = 0.02, 1.0
#: A fork of this process, which is a guest, has another one.
OWN = os.getpid()


class Supervisor:
    """Serves the host, with one guest after the other."""

    def __init__(self, host, harness, modules, settings, layout, asked):
        self._host, self._harness, self._modules = host, harness, modules
        self._settings, self._layout = settings, layout
        self._questions, self._sockets_at_rest = asked, None
        self._authority = settings["authority"]
        self._places = renewal.places(settings["granted"], layout["scratch"])
        self._kernel = renewal.Kernel()
        self._meter = meter.Meter()
        self._owed = self._owed_to_stdin = 0
        self._stdin = Stdin()
        self._busy = False
        self._look, self._next_look, self._told_cpu = CLOSEST_LOOK, 0.0, 0
        self._bell, ring = os.pipe()
        for descriptor in (self._bell, ring):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        self._guest = None

    def fork_guest(self, announce=False):
        return Guest(self._harness, self._modules, self._layout, self._settings["open_files"], announce)

    def await_guest(self, guest):
        """Takes the first guest once it reports that it is ready.

        Later guests are made the same way, so they do not report it.
        """
        poll = select.poll()
        for descriptor in guest.streams:
            poll.register(descriptor, select.POLLIN)
        deadline = time.monotonic() + 20
        while not guest.said(b'"type":"ready"'):
            left = deadline - time.monotonic()
            if left <= 0 or not guest.open[0]:
                words = guest.complaint()
                raise TimeoutError(f"the next guest did not get ready{': ' + words if words else ''}")
            poll.poll(left * 1000)
            guest.gather()
        guest.forget()
        self._sockets_at_rest = questions.sockets_in_use()
        self._take(guest)

    def _take(self, guest):
        self._guest, self._busy, self._look, self._told_cpu = guest, False, CLOSEST_LOOK, 0
        self._meter.begin_anew()

    def tell_ready(self, report):
        self._host.tell("ready", **report, usage=self._meter.usage())

    def serve(self):
        host = self._host
        while True:
            poll, guest = select.poll(), self._guest
            writable = False
            if self._owed and host.has_bytes():
                # The guest is slow to read, so the messages behind these bytes wait.
                if guest is not None:
                    poll.register(guest.channel.fileno(), select.POLLIN | select.POLLOUT)
                    writable = True
            else:
                poll.register(0, select.POLLIN)
            poll.register(self._bell, select.POLLIN)
            pipe = self._stdin.pipe if self._stdin.waits() else None
            if pipe is not None:
                poll.register(pipe, select.POLLOUT)
            asked = self._questions.descriptor
            if asked is not None:
                poll.register(asked, select.POLLIN)
            if guest is not None:
                for which, descriptor in enumerate(guest.streams):
                    if guest.open[which] and not (which == 0 and writable):
                        poll.register(descriptor, select.POLLIN)
            wait = max(0.0, self._next_look - time.monotonic()) * 1000 if self._busy else None
            is_ahead = guest is not None and guest.is_ahead()
            if is_ahead:
                wait = 0
            events = dict(poll.poll(wait))
            if asked is not None and asked in events:
                self._questions.answer(self._tell_of_sockets)
            if self._bell in events:
                os.read(self._bell, 4096)
                if reap(guest) and guest is not None:
                    self._report_end(guest)
                    continue
            if is_ahead or (guest is not None and any(descriptor in events for descriptor in guest.streams)):
                if guest.gather():
                    self._relay(guest)
                elif not any(guest.open) and not guest.told_closed:
                    guest.told_closed = True
                    host.tell("closed")
            if pipe is not None and pipe in events:
                host.tell("stdin_taken", size=self._stdin.write())
            if 0 in events:
                if not host.fill():
                    return
                self._listen()
            elif writable and events.get(guest.channel.fileno(), 0) & select.POLLOUT:
                self._listen()
            if self._busy and time.monotonic() >= self._next_look:
                self._tell_usage()

    def _relay(self, guest):
        if not guest.framed():
            guest.hand_over(self._host)
            return
        fields = {"usage": self._meter.usage()}
        if guest.said(b'"type":"error"'):
            fields["scratch_is_full"] = meter.is_full(self._layout["scratch"])
        guest.hand_over(self._host, **fields)

    def _tell_usage(self):
        used = self._meter.cpu_micros() or 0
        idle = used - self._told_cpu < 1000
        self._look = min(self._look * 2, WIDEST_LOOK) if idle else CLOSEST_LOOK
        self._told_cpu, self._next_look = used, time.monotonic() + self._look
        if not idle:
            self._host.tell("usage", usage=self._meter.usage())

    def _listen(self):
        host = self._host
        while True:
            if self._owed:
                if not host.has_bytes():
                    break
                try:
                    self._owed -= host.pass_on(self._guest.channel.fileno(), self._owed)
                except BlockingIOError:
                    break
                except (AttributeError, OSError):
                    # There is no guest to take the bytes.
                    self._owed -= host.skip(self._owed)
                continue
            if self._owed_to_stdin:
                if not host.has_bytes():
                    break
                self._owed_to_stdin -= self._stdin.take(host, self._owed_to_stdin)
                taken = self._stdin.write()
                if taken:
                    host.tell("stdin_taken", size=taken)
                continue
            message = host.next_line()
            if message is None:
                break
            kind = message.get("type")
            if kind == "input":
                self._owed, self._busy, self._look = message["size"], True, CLOSEST_LOOK
                self._meter.begin()
                self._next_look = time.monotonic() + CLOSEST_LOOK
            elif kind == "settle":
                # Between two steps of a session. Output until now belongs to neither.
                if self._guest is not None and self._guest.gather():
                    self._relay(self._guest)
                host.tell("settled", usage=self._meter.usage())
            elif kind == "interrupt":
                if self._guest is not None:
                    os.kill(self._guest.pid, signal.SIGINT)
            elif kind in ("interrupt_all", "terminate"):
                if self._guest is not None:
                    # It leads a group.
                    os.killpg(self._guest.pid, signal.SIGTERM if kind == "terminate" else signal.SIGINT)
            elif kind == "stdin":
                if self._guest is not None:
                    self._stdin.open(self._guest)
            elif kind == "stdin_data":
                self._owed_to_stdin = message["size"]
            elif kind == "stdin_end":
                self._stdin.end()
            elif kind == "still":
                # The guest's end is reported as any other.
                kill_all()
            elif kind == "files":
                self._send_for_a_clerk()
            elif kind == "reset":
                self._reset()
            elif kind == "egress":
                # The proxy is not the one from the start. Without it no guest reaches any host, and
                # Belljar's host knows that.
                try:
                    if message["authority"]:
                        self._authority = message["authority"]
                        egress.trust(self._authority, self._layout["authorities"])
                    # The listener is a socket too, so the kernel asks this very process about it.
                    self._tell_of_sockets()
                    self._questions.answer_elsewhere()
                    egress.open_listener(message)
                except OSError as error:
                    os.write(2, f"no egress: {error}\n".encode())
        host.wipe_what_was_read()

    def _send_for_a_clerk(self):
        """Has another process speak with the host about files, and waits until it is gone.

        Meanwhile every process of the guest stands still: it has the same user id, and could end or
        stop the clerk in the middle of a word. If a clerk ends early all the same, nobody may go on
        in its place: the host would take what a guest says for the rest of an answer.
        """
        signal_all(signal.SIGSTOP)
        clerk = os.fork()
        if clerk == 0:
            code = 70
            try:
                Clerk(self._host, self._layout["workspace"]).serve()
                code = 0
            finally:
                os._exit(code)
        if os.waitpid(clerk, 0)[1] != 0:
            os._exit(70)
        signal_all(signal.SIGCONT)

    def _tell_of_sockets(self):
        if not self._questions.sockets_were_made:
            self._host.tell("sockets_made")

    def _report_end(self, guest):
        """The guest is dead, and so is all it started. Reports its last output and how it ended."""
        kill_all()
        deadline = time.monotonic() + renewal.WITHIN
        poll = select.poll()
        for descriptor in guest.streams:
            poll.register(descriptor, select.POLLIN)
        while any(guest.open) and time.monotonic() < deadline:
            poll.poll(100)
            if guest.gather():
                guest.hand_over(self._host)
            for which, descriptor in enumerate(guest.streams):
                if not guest.open[which]:
                    try:
                        poll.unregister(descriptor)
                    except KeyError:
                        pass
            reap(None)
        guest.close()
        self._stdin.close()
        self._guest, self._busy = None, False
        is_full = meter.is_full(self._layout["scratch"])
        self._host.tell("ended", status=guest.status, usage=self._meter.usage(), scratch_is_full=is_full)

    def _wait_for_a_death(self):
        """Returns when a child has died, or soon in any case.

        A process that dies may not be a child of this process yet.
        """
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        if poll.poll(5):
            os.read(self._bell, 4096)

    def _reset(self):
        try:
            kill_all()
            if any(
                grant.startswith(place + "/") for grant in self._settings["granted"] for place in self._places
            ):
                raise RuntimeError("emptying a place would empty what is granted inside it")
            self._stdin.close()
            if self._guest is not None:
                self._guest.close()
                self._guest.forget()
                self._guest = None
            if self._questions.sockets_were_made:
                raise RuntimeError(
                    "the last guest made a socket, and what that leaves in a network cannot be undone"
                )
            self._host.wipe_what_was_read()
            # It starts while the last one dies and its remains are removed. If it dies instead,
            # that is reported like any death.
            guest = self.fork_guest()
            renewal.make_as_new(self._places, guest, self._wait_for_a_death)
            if self._authority:
                egress.trust(self._authority, self._layout["authorities"])
            self._kernel.forget_objects()
            if questions.sockets_in_use() != self._sockets_at_rest:
                raise RuntimeError("sockets of the last guest are still on their way in one another's queues")
            self._take(guest)
        except Exception as error:
            if os.getpid() != OWN:
                raise  # This is the guest.
            self._host.tell("reset_failed", reason=f"{type(error).__name__}: {error}")
            return
        self._host.tell("reset_done", usage=self._meter.usage())


def _boot(host):
    while True:
        message = host.next_line()
        if message is not None:
            host.wipe_what_was_read()
            return message
        if not host.fill():
            os._exit(0)


def _forget_files(template, layout, granted):
    """Removes what was written while packages were loaded: the first guest would be the only one to see it.

    A place with something granted in it is left alone. That is the host's, and there is one guest.
    """
    for place in layout["scratch"]:
        if any(path.startswith(place + "/") for path in granted):
            continue
        if place == layout["workspace"]:
            template.note_lost_files(place)
        renewal.empty(place, time.monotonic() + renewal.WITHIN)


def main():
    rights.set_login_id()
    # No process in the container may read its memory, stop it, or read what it reads.
    rights.prctl(rights.PR_SET_DUMPABLE, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # The daemon adds this. A guest's environment comes only from the config.
    os.environ.pop("HOSTNAME", None)
    host = Host()
    settings = _boot(host)
    try:
        if os.getpid() != 1:
            raise RuntimeError(f"the supervisor must be PID 1 of its container, not {os.getpid()}")
        with open(f"{HOME}/template.json", encoding="utf-8") as file:
            template_settings = json.load(file)
        template_settings["vouched"] = settings["vouched"]
        layout = template_settings["layout"]
        if settings["is_kept"]:
            # What is in it was there before, and stays.
            layout["scratch"] = [place for place in layout["scratch"] if place != layout["workspace"]]
        if settings["authority"]:
            egress.trust(settings["authority"], layout["authorities"])
        if settings["egress"]:
            egress.open_listener(settings["egress"])
        rights.refuse_calls(HOME)
        harness = _load_harness()
        template, module, spare = harness.prepare(template_settings)
        _forget_files(template, layout, settings["granted"])
        harness.prepare_for_clone()
        # Not earlier: a tool that makes a socket while it is loaded would wait for an answer from
        # this very process.
        asked = questions.Questions(
            rights.refuse_more_calls(HOME), settings["most_sockets"], settings["most_locks"]
        )
        supervisor = Supervisor(host, harness, (module, spare), settings, layout, asked)
        supervisor.await_guest(supervisor.fork_guest(announce=True))
    except BaseException as error:
        if os.getpid() != OWN:
            raise  # This is the guest.
        host.tell("not_ready", reason=f"{type(error).__name__}: {error}")
        os._exit(70)
    supervisor.tell_ready(
        {**harness.report(template), "surroundings": renewal.surroundings(settings["granted"])}
    )
    supervisor.serve()
    # The host is gone. Everything in the container ends with this process.
    os._exit(0)


if __name__ == "__main__":
    main()
