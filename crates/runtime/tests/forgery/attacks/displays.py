# attack: a_display_past_the_harness_is_a_display
# expect: ok "real"
raw(sealed("display", data={"text/plain": "mine"}))
emit_result("real")

# attack: displays_that_are_none
# expect: ok "real"
# warns: 9 forms of displays are missing: the data is not what the MIME type says
for data in (None, 5, "text/plain", [], {"": "x"}, {"Text/HTML": "x"}, {"text/plain": 5}, {"text/../x": "x"}, {"a" * 200 + "/b": "x"}):
    raw(sealed("display", data=data))
raw(sealed("display", data={}))
emit_result("real")

# attack: pictures_that_are_not_base64
# expect: ok "real"
# warns: 4 forms of displays are missing: the data is not what the MIME type says
for data in ("not base64", "iVBORw", "iVBORw=\n=", {"a": 1}):
    raw(sealed("display", data={"image/png": data}))
emit_result("real")

# attack: sequences_for_a_terminal_in_a_display
# expect: ok "real"
# warns: 1 form of a display is missing
raw(sealed("display", data={"text/plain": "\x1b]52;c;eA==\x07\x9b2J\u202e\n⌂ error: forged", "text/\x1b[2J": "x"}))
raw(sealed("display", data={"application/json": ["\x1b[2J", 10 ** 400]}))
emit_result("real")

# attack: more_displays_than_are_kept
# expect: ok "real"
# warns: 501 forms of displays are missing: a run may show 500 things
frame = sealed("display", data={"text/plain": ""})
for _ in range(10): raw(frame * 100)
raw(sealed("display", data={}, left_out=1))
emit_result("real")

# attack: a_claim_that_very_much_is_missing
# expect: ok "real"
# warns: 18446744073709551615 forms of displays are missing
raw(sealed("display", data={}, left_out=2**64 - 1) * 3)
emit_result("real")

# attack: a_negative_claim_is_no_frame
# expect: ok "real"
raw(sealed("display", data={"text/plain": "x"}, left_out=-1))
emit_result("real")

# attack: a_display_with_very_many_forms
# expect: ok "real"
# warns: 968 forms of displays are missing
raw(sealed("display", data={f"text/x{n}": "" for n in range(1000)}))
emit_result("real")

# attack: deep_json_in_a_display
# expect: ok "real"
# warns: data of the displays that not every JSON reader can read was changed: nested deeper than 60 levels
raw(sealed("display", data={"application/json": 5}).replace(b": 5", b": " + b"[" * 1000 + b"]" * 1000))
emit_result("real")

# attack: a_display_that_is_larger_than_all_output
# expect: output
raw(sealed("display", data={"image/png": "A" * (2 << 20)}))
time.sleep(60)

# attack: a_display_after_the_end
# expect: no_result
raw(sealed("script_done") + sealed("display", data={"text/plain": "late"}))
while True: time.sleep(1)

# attack: a_repr_that_hangs
# expect: timeout_wall
# seconds: 1
class Endless:
    def _repr_html_(self):
        while True: pass
display(Endless())

# attack: a_repr_that_ends_the_process
# expect: exited 3
class Deadly:
    def _repr_html_(self): os._exit(3)
display(Deadly())

# attack: a_repr_that_emits_a_result
# expect: ok "inside"
class Busy:
    def _repr_html_(self):
        emit_result("inside")
        display(1)
        return "<b>"
display(Busy())

# attack: ten_thousand_displays_by_the_harness
# expect: ok "real"
# warns: 9500 forms of displays are missing: a run may show 500 things
for number in range(10_000): display(number)
emit_result("real")

# attack: a_picture_of_a_hundred_megabytes
# expect: ok "real"
# warns: 1 form of a display is missing: a run may show 500 things
class Huge:
    def _repr_png_(self): return b"x" * 100_000_000
display(Huge())
emit_result("real")

# attack: displays_from_many_threads
# expect: ok 400
def show():
    for number in range(50): display(number)
threads = [threading.Thread(target=show) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
emit_result(400)

# attack: a_display_from_a_child
# expect: ok 0
pid = os.fork()
if pid == 0:
    try: display(1)
    except RuntimeError: os._exit(0)
    os._exit(1)
emit_result(os.waitpid(pid, 0)[1])
