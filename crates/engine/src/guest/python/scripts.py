"""Runs scripts: each with fresh globals, or the steps of a session with those of the step before."""

import _thread
import asyncio
import inspect
import io
import linecache
import os
import sys
import threading
import traceback

from . import displays, parts, program
from . import execution as executions
from . import namespace as namespaces
from .alarm import Alarm, ScriptTimeout
from .execution import Execution
from .namespace import ToolsNotLoaded, new_main
from .output import flush, stderr
from .strays import strays
from .traces import trace, with_line

SCRIPT_NAME = "<agent_script>"
_AWAITS = inspect.CO_COROUTINE


class Scripts:
    """Does what requests ask for, one after the other."""

    def __init__(self, interrupts, module=None, with_late_tools=True):
        self._interrupts = interrupts
        self._with_late_tools = with_late_tools
        self._session = None
        self._steps = 0
        # For scripts that await outside of any function.
        self._loop = None
        # Made ahead of the first run, which is the only one most cells see.
        self._prepared = module

    @property
    def module(self):
        """Where the next step will find its variables."""
        return self._session or self._prepared

    def execute(self, channel, request):
        executions.running = execution = Execution(channel, request)
        owner = os.getpid()
        try:
            if request.get("secrets"):
                os.environ.update(request["secrets"])
            if "env" in request:
                os.environ.update(request["env"])
            missing = [name for name in request.get("required_secrets") or () if not os.environ.get(name)]
            if missing:
                execution.error(f"Missing required environment variables: {missing}")
            else:
                self._run(execution, request, channel)
        finally:
            if os.getpid() != owner:
                # A child that the script forked has come to the script's end. It is not the
                # harness.
                flush()
                os._exit(0)
            if execution.alarm is not None:
                strays.end_step(execution)
                if "has_stdin" in request:
                    program.detach_stdin()
            # From here on nobody speaks for this execution, whatever of it runs on. This comes
            # before its end is told: whoever hears of the end may go on at once.
            executions.running = None
            execution.done()

    def _run(self, execution, request, channel):
        owner, mode = os.getpid(), request.get("mode")
        interactive, is_program = mode == "interactive", mode == "script"
        script, timeout = request["script"], request["timeout"]
        given = request.get("name")
        path = program.place_of(given)
        name = path or self._name_of_next(interactive)
        # mtime None keeps linecache from looking for a file of that name.
        linecache.cache[name] = (len(script), None, _lines(script), name)
        module = self._module(mode)
        program.introduce(module, given, path, script, request.get("args", ()))
        if "has_stdin" in request:
            program.attach_stdin(execution, channel)
        alarm = Alarm(timeout, is_program)
        if interactive:
            # In a session others wait for the end of this step. A script by itself is killed.
            execution.alarm = alarm
            strays.begin_step(execution)
        try:
            try:
                with alarm:
                    self._interrupts.begin(request["seal"])
                    if namespaces.late_tools is not None and self._with_late_tools:
                        namespaces.late_tools.load(module.__dict__)
                    self._run_to_its_end(script, name, module.__dict__, mode)
                    self._interrupts.end()
            except BaseException as error:
                if os.getpid() != owner:
                    _die_as_a_child(error)
                self._interrupts.end()
                raise
        except ScriptTimeout as error:
            if execution.has_result and not is_program:
                execution.log("the script went on after emit_result and was interrupted", "warning")
            else:
                execution.error(f"Script timed out after {timeout:g}s", trace(error), timed_out=True)
        except ToolsNotLoaded as error:
            execution.error(str(error), trace(error.__cause__))
        except SystemExit as error:
            self._tell_exit(execution, error, is_program)
        except BaseException as error:
            message = "".join(traceback.format_exception_only(type(error), error)).strip()
            summary = message.splitlines()[-1] if isinstance(error, SyntaxError) else message
            if execution.has_result and not is_program:
                execution.log(f"the script raised after emit_result: {summary}", "warning")
            else:
                execution.error(with_line(summary, error, name), trace(error))
        if is_program:
            del module
            program.let_go()

    def _run_to_its_end(self, script, name, namespace, mode):
        try:
            self._run_code(script, name, namespace, mode)
        except ScriptTimeout:
            raise
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                self._show_figures(mode)
            if mode == "script":
                program.wind_up(error)
            raise
        self._show_figures(mode)
        if mode == "script":
            program.wind_up()
        elif mode != "interactive" and _thread._count():
            _join_threads()

    def _tell_exit(self, execution, error, is_program):
        code = program.exit_code(error)
        if is_program:
            program.say_why(error)
            if code:
                execution.error(f"Script exited with code {code}", exit_code=code)
        elif code and not execution.has_result:
            execution.error(f"Script called sys.exit({error.code!r})", trace(error), exit_code=code)

    def _name_of_next(self, interactive):
        self._steps += 1
        return SCRIPT_NAME if not interactive or self._steps == 1 else f"<agent_script step {self._steps}>"

    def _show_figures(self, mode):
        # Before anything at the end of the program closes them. A plan shows what it says it shows.
        if mode != "plan" and "matplotlib._pylab_helpers" in sys.modules:
            displays.show_figures()

    def _run_code(self, script, name, namespace, mode):
        """Compiles and runs a script. A step prints the value of a last expression, as a prompt would.

        A program does not, but shows it if it has another form than text.
        """
        is_step = mode == "interactive"
        # All before anything runs: what cannot be compiled has no effect.
        if is_step:
            body, value = parts.of_step(script, name)
        elif mode == "script":
            body, value = parts.of_program(script, name)
        else:
            body, value = parts.compiled(script, name, "exec"), None
        if value is not None and (body.co_flags | value.co_flags) & _AWAITS:
            # All of it runs in the loop, or none: what begins a task needs the loop too.
            self._evaluate(parts.keeping_last(script, name), namespace)
            value = namespace.pop(parts.LAST)
        else:
            self._evaluate(body, namespace)
            value = value and self._evaluate(value, namespace)
        if value is not None:
            if is_step:
                # As Python's own prompt does it, which also keeps the value as `_`.
                sys.displayhook(value)
            displays.show_last(value, is_printed=is_step)

    def _evaluate(self, code, namespace):
        value = eval(code, namespace)
        if not code.co_flags & _AWAITS:
            return value
        # One loop for all steps: what one step starts, the next can wait for.
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(value)

    def _module(self, mode):
        interactive = mode == "interactive"
        if interactive and self._session is not None:
            return self._session
        if mode == "script":
            # One that the collector sees: it is let go of at the end.
            module = new_main()
        else:
            module, self._prepared = self._prepared or new_main(), None
        sys.modules["__main__"] = module
        if interactive:
            self._session, namespaces.is_session = module, True
        return module


def _lines(script):
    """The lines that a file of it would have. Each ends with a newline, or tracebacks mark a wrong place."""
    return io.StringIO(script if script.endswith("\n") else f"{script}\n", newline=None).readlines()


def _join_threads():
    """As at the end of any Python program: threads that are not daemons may finish."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _die_as_a_child(error):
    if isinstance(error, SystemExit):
        code = program.exit_code(error)
        program.say_why(error)
    else:
        code = 1
        print(trace(error), end="", file=stderr)
    flush()
    os._exit(code)
