"""What the tests draw from: small alphabets, where ties, runs and overlaps are common."""

from __future__ import annotations

from hypothesis import strategies as st

from reference import Rule

unicode_text = st.text(max_size=60)
small_text = st.sampled_from(["a", "ab", "abc"]).flatmap(
    lambda letters: st.text(alphabet=letters, max_size=60)
)
some_text = small_text | unicode_text | st.text(alphabet="ab 한é🎉\n", max_size=40)


def rule_lists(ids: st.SearchStrategy[int]) -> st.SearchStrategy[list[Rule]]:
    """Any rules whatsoever over `ids`: out of order, repeated, going in circles."""
    return st.lists(st.tuples(st.tuples(ids, ids), ids), max_size=12)


wild_ids = st.sampled_from([97, 98, 99, 256, 257, 258, 259, -1, 0x110000, 10**30])
near_ids = st.sampled_from([97, 98, 256, 257, 258, 259, 260])


@st.composite
def well_formed_rules(draw: st.DrawFn) -> list[Rule]:
    """Rules that make each id once, in any order and with parts that may not exist yet."""
    results = draw(st.permutations(range(256, 256 + draw(st.integers(0, 10)))))
    parts = st.sampled_from([97, 97, 98, 98, *results])
    return [((draw(parts), draw(parts)), new_id) for new_id in results]


@st.composite
def token_alphabets(draw: st.DrawFn) -> list[bytes]:
    """The single bytes and some tokens of few letters: repeated, unreachable, in any order."""
    longer = st.lists(st.text(alphabet="ab", min_size=1, max_size=6), max_size=12)
    return [*(bytes([byte]) for byte in range(256)), *(t.encode() for t in draw(longer))]
