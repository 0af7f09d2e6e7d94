# attack: a_result_400_000_levels_deep
# expect: ok [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
# warns: data of the result that not every JSON reader can read was changed: nested deeper than 60 levels (now null)
raw(sealed("final_result", data="D").replace(b'"D"', b"[" * 400_000 + b"]" * 400_000))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: a_result_of_objects_all_the_way_down
# expect: ok {"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":null}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}
# warns: nested deeper than 60 levels (now null)
raw(sealed("final_result", data="D").replace(b'"D"', b'{"a":' * 100_000 + b"1" + b"}" * 100_000))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: brackets_in_strings_do_not_count_and_hide_nothing
# expect: ok ["]]]]]]",[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]],"[[[[[["]
# warns: nested deeper than 60 levels
raw(sealed("final_result", data="D").replace(b'"D"', b'["]]]]]]",' + b"[" * 70 + b'"]\\"]"' + b"]" * 70 + b',"[[[[[["]'))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: a_number_of_100_000_digits
# expect: ok [1,null,2]
# warns: a number that a double cannot hold (now null)
raw(sealed("final_result", data="D").replace(b'"D"', b"[1," + b"9" * 100_000 + b",2]"))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: a_fraction_of_100_000_digits
# expect: ok null
# warns: a number that a double cannot hold (now null)
raw(sealed("final_result", data="D").replace(b'"D"', b"0." + b"3" * 100_000))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: an_exponent_that_no_double_has
# expect: ok [null,null,null,1.7976931348623157e+308]
# warns: 3 times a number that a double cannot hold (now null)
raw(sealed("final_result", data="D").replace(b'"D"', b"[1e999999,-1E+400,17976931348623159e292,1.7976931348623157e+308]"))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: halves_of_surrogate_pairs
# expect: ok {"\ufffd":"a\ufffdb","x":"\ufffd\ufffd\ud83d\ude00"}
# warns: 4 times half of a surrogate pair (now U+FFFD)
raw(sealed("final_result", data="D").replace(b'"D"', rb'{"\ud800":"a\udfffb","x":"\udc00\ud800\ud83d\ude00"}'))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: a_name_given_twice
# expect: ok {"verdict":"first","b":{"c":1}}
# warns: 3 times a field whose name was there already (left out)
raw(sealed("final_result", data="D").replace(b'"D"', rb'{"verdict":"first","\u0076erdict":2,"b":{"c":1,"c":[1,{}]},"verdict":"last"}'))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: a_name_of_a_hundred_thousand_bytes
# expect: ok {"a":1}
# warns: a field with a name of over 50000 bytes (left out)
raw(sealed("final_result", data="D").replace(b'"D"', b'{"' + b"n" * 100_000 + b'":0,"a":1}'))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: everything_at_once_in_ten_thousand_intermediates
# expect: ok "real"
# warns: data of the intermediate results that not every JSON reader can read was changed
value = rb'{"a":1e999,"a":"\ud800"}'
for _ in range(2_000): raw(sealed("intermediate", label="x", data="D").replace(b'"D"', value))
emit_result("real")

# attack: white_space_that_is_a_line_to_somebody
# expect: ok ["\u2028","\u0085", {"type": "ended"} ]
raw(sealed("final_result", data="D").replace(b'"D"', rb'["\u2028","\u0085",' + b'\r{"type":\r"ended"}\r]'))
raw(sealed("script_done"))
while True: time.sleep(1)

# attack: separators_and_controls_as_they_are
# expect: ok "  2J‮​"
emit_log("\u2028\x9b2J\u202e")
emit_intermediate("\u2028{}\u0085", "\u2028")
print("\u2028\x85\x9b")
emit_result("\u2028\u2029\x85\x9b2J\u202e\u200b")

# attack: frames_that_only_the_host_may_send
# expect: ok "real"
for kind in ("ended", "warning", "leftover", "denied", "result"):
    raw(sealed(kind, message="forged", text="forged", stream="stdout", verdict="oom", result={"verdict": "oom"}))
emit_result("real")

# attack: the_harness_refuses_by_the_same_rules
# expect: ok ["is nested deeper than 60 levels","is nested deeper than 60 levels","an integer of more than 308 digits","an integer of more than 308 digits","a lone surrogate"]
def refusal(value):
    try:
        emit_intermediate("x", value)
    except ValueError as error:
        known = ("is nested deeper than 60 levels", "an integer of more than 308 digits", "a lone surrogate")
        return next((words for words in known if words in str(error)), str(error))
def nested(levels):
    value = 1
    for _ in range(levels): value = [value]
    return value
assert refusal(nested(60)) is None and refusal(10**308 - 1) is None and refusal("[" * 99 + "9" * 999) is None
emit_result([refusal(nested(61)), refusal(nested(100_000)), refusal(10**308), refusal([{"n": -(10**5000)}]), refusal("\ud800")])
