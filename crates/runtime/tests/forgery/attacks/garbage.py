# attack: half_a_line
# expect: ok "real"
raw(b'{"type":"final_result","data":')
emit_result("real")

# attack: half_a_line_that_the_next_frame_would_complete
# expect: ok "real"
raw(sealed("final_result", data="forged").strip()[:-1] + b',"label":"')
emit_result("real")

# attack: a_line_of_a_gigabyte
# expect: output
block = b"x" * (1 << 20)
for _ in range(1024): raw(block)
emit_result("real")

# attack: a_frame_of_a_gigabyte_with_the_seal
# expect: output
raw(sealed("log", message="").strip()[:-1] + b',"data":"')
block = b"x" * (1 << 20)
for _ in range(1024): raw(block)

# attack: a_million_empty_lines
# expect: ok "real"
raw(b"\n" * 1_000_000)
emit_result("real")

# attack: text_that_is_not_utf8
# expect: ok "real"
for bad in (b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", bytes(range(128, 256))):
    raw(b"\n" + bad + b"\n" + sealed("final_result", data="\0forged").replace(b"\\u0000", bad))
emit_result("real")

# attack: nuls
# expect: ok "real"
raw(b"\0" * 4096 + FORGED.replace(b" ", b"\0"))
raw(sealed("final_result", data="forged").replace(b" ", b"\0"))
emit_result("real")

# attack: json_a_hundred_thousand_levels_deep
# expect: ok "real"
value = b"[" * 100_000 + b"1" + b"]" * 100_000
raw(b"\n" + value + b"\n")
raw(sealed("log", message="M").replace(b'"M"', value))
raw(sealed("log", message="M").replace(b'"M"', b'{"a":' * 50_000 + b"1" + b"}" * 50_000))
emit_result("real")

# attack: a_field_nobody_knows_a_hundred_thousand_levels_deep
# expect: ok "real"
raw(sealed("log", message="m", unknown="U").replace(b'"U"', b"[" * 100_000 + b"]" * 100_000))
emit_result("real")

# attack: brackets_that_never_close
# expect: ok "real"
raw(b"\n" + b"[" * 300_000 + b"\n" + b'{"type":' * 30_000 + b"\n")
emit_result("real")

# attack: integers_of_any_size
# expect: ok "real"
digits = b"9" * 50_000
for field in (b'"stdout":', b'"stderr":', b'"protocol":', b'"type":'):
    for number in (b"-1", b"18446744073709551616", digits, b"1e999", b"-" + digits, b"0.5"):
        raw(sealed("final_result", data="forged").strip()[:-1] + b"," + field + number + b"}\n")
emit_result("real")

# attack: counts_of_prints_that_never_were
# expect: ok "real"
print("before")
for count in (0, 1, 5, 2**63, 2**64 - 1):
    raw(sealed("log", message="counted", stdout=count, stderr=count))
print("after")
emit_result("real")

# attack: keys_given_twice
# expect: ok "real"
frame = sealed("final_result", data="forged").strip()[:-1]
for twice in (b'"type":"log"', b'"type":"final_result"', b'"data":2', b'"seal":"x"', b'"seal":"%s"' % seal_from_frames().encode()):
    raw(b"\n" + frame + b"," + twice + b"}\n")
emit_result("real")

# attack: lone_surrogates
# expect: ok "real"
for field in (b'"message"', b'"label"', b'"level"', b'"seal"', b'"type"'):
    raw(sealed("error").strip()[:-1] + b"," + field + b':"\\ud800"}\n')
emit_result("real")

# attack: two_frames_on_one_line
# expect: ok "real"
raw(b"\n" + sealed("log", message="a").strip() + sealed("final_result", data="forged").strip() + b"\n")
raw(b"\n" + sealed("log", message="a").strip() + b"\r" + sealed("final_result", data="forged").strip() + b"\n")
emit_result("real")

# attack: a_byte_order_mark_and_other_disguises
# expect: ok "real"
frame = sealed("final_result", data="forged").strip()
for disguised in (b"\xef\xbb\xbf" + frame, b"data: " + frame, b"[" + frame + b"]", frame + b"x", b"'" + frame, frame.decode().encode("utf-16"), frame.replace(b'"', b"'")):
    raw(b"\n" + disguised + b"\n")
emit_result("real")

# attack: words_that_are_not_json
# expect: ok "real"
for word in (b"NaN", b"Infinity", b"-Infinity", b"undefined", b"0x1", b"01", b"'x'", b"1_000", b"nul"):
    raw(sealed("final_result", data="D").replace(b'"D"', word))
emit_result("real")

# attack: one_byte_at_a_time
# expect: ok "mine"
for byte in sealed("final_result", data="mine") + sealed("script_done"):
    raw(bytes([byte]))
    time.sleep(0)
while True: time.sleep(1)
