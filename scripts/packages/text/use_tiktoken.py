# uses: an encoding trained in the cell (the published ones are downloaded)
# expect: True hello hello world True
import contextlib
import io

import tiktoken
from tiktoken._educational import bpe_train

with contextlib.redirect_stdout(io.StringIO()):
    ranks = bpe_train("hello hello hello world world " * 20, 262, r"\w+|\s+|[^\w\s]+", visualise=None)
encoding = tiktoken.Encoding("small", pat_str=r"\w+|\s+|[^\w\s]+", mergeable_ranks=ranks, special_tokens={})
text = "hello hello world"
tokens = encoding.encode(text)
print(
    len(tokens) < len(text),
    encoding.decode(tokens),
    encoding.encode_batch([text, text], num_threads=2) == [tokens, tokens],
)
