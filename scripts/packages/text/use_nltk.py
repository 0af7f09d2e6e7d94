# uses: tokens, stems, n-grams, frequencies, edit distance (what needs no downloaded data)
# expect: ['Do', "n't", 'stop', '.'] run [('a', 'b'), ('b', 'c')] 2 3
import nltk
from nltk.stem import PorterStemmer
from nltk.tokenize import TreebankWordTokenizer

tokens = TreebankWordTokenizer().tokenize("Don't stop.")
counts = nltk.FreqDist("to be or not to be".split())
print(
    tokens,
    PorterStemmer().stem("running"),
    list(nltk.ngrams("abc", 2)),
    counts["to"],
    nltk.edit_distance("kitten", "sitting"),
)
