"""The roster: what it holds and refuses, and which names may answer for a model."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.experiments.messages import Parameters
from pytest_bias.providers import base
from pytest_bias.settings.model_entry import FREE, WIRES, EndpointEntry, ModelEntry, Price
from pytest_bias.settings.model_names import answered_by, answered_text, other_model
from pytest_bias.settings.roster import BUILT_IN, is_unpinned, parse_roster, read_roster

PATH = Path("bias_models.toml")
ROOT = Path(__file__).parents[3]

WHOLE = """
[models."openai/gpt-5.1-2025-11-13"]
temperature = 1
max_output_tokens = 1000
requests_per_minute = 500
tokens_per_minute = 500000
concurrency = 50
price = { input = 1.25, output = 10.0 }
wire = "openai-responses"
refuses = ["temperature"]
alias = true
[models."google/gemini-2.5-flash"]
[endpoints.ollama]
wire = "openai-chat"
base_url = "http://127.0.0.1:11434/v1"
api_key_env = "OLLAMA_API_KEY"
[endpoints.vllm]
wire = "openai-chat"
base_url = "https://models.example.org/v1"
[judges]
order = ["google/gemini-2.5-flash", "openai/gpt-5.1-2025-11-13"]
"""


@pytest.mark.requirement("CV-46")
def test_a_whole_roster() -> None:
    roster = parse_roster(WHOLE, PATH)
    assert roster.entry("openai/gpt-5.1-2025-11-13") == ModelEntry(
        temperature=1.0,
        max_output_tokens=1000,
        requests_per_minute=500,
        tokens_per_minute=500_000,
        concurrency=50,
        price=Price(1.25, 10.0),
        wire="openai-responses",
        refuses=frozenset({"temperature"}),
        alias=True,
    )
    assert roster.defaults("openai/gpt-5.1-2025-11-13") == Parameters(1.0, 1000)
    assert roster.entry("google/gemini-2.5-flash") == ModelEntry()
    assert roster.endpoints == {
        "ollama": EndpointEntry("openai-chat", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"),
        "vllm": EndpointEntry("openai-chat", "https://models.example.org/v1"),
    }
    assert roster.judges == ("google/gemini-2.5-flash", "openai/gpt-5.1-2025-11-13")


MOVES = {
    **dict.fromkeys(
        ["openai/chatgpt-4o-latest", "ollama/llama3:latest", "own/LATEST-preview"], True
    ),
    **dict.fromkeys(["openai/gpt-5.1-2025-11-13", "latest/gpt-5.1", "own/greatest"], False),
}


@pytest.mark.parametrize(("model", "moves"), MOVES.items())
def test_names_that_may_move(model: str, moves: bool) -> None:  # noqa: FBT001
    assert is_unpinned(model, ModelEntry()) == moves
    assert is_unpinned(model, ModelEntry(alias=True))


MODEL, OWN, LOCAL = '[models."a/b"]', "[endpoints.mine]", "[local.mine]"
CHAT, URL = 'wire = "openai-chat"', "must be an http:// or https:// URL with a host"
AT_HOME = f'{CHAT}\nbase_url = "http://127.0.0.1/v1"'
BAD: list[tuple[str, str, str, str]] = [
    ("[models", "", "not TOML", "at line 1"),
    ("[modles]", "", "[modles]", "is not known here"),
    (MODEL, "temprature = 1", f"{MODEL} temprature", "is not known here"),
    (MODEL, "price = {input = inf, output = 1}", f"{MODEL} price.input", "finite number"),
    (MODEL, "requests_per_minute = 0", f"{MODEL} requests_per_minute", "than or equal to 1"),
    (MODEL, 'wire = "soap"', f"{MODEL} wire", "'openai-chat' or 'openai-res"),
    (MODEL, 'served = "llama"', f"{MODEL} served", "must be a list"),
    (MODEL, 'system = " "', f"{MODEL} system", "pattern"),
    (MODEL, "request = {n = 2}", f"{MODEL} request", "n is what the experiment sends"),
    (
        MODEL,
        "request = {generationConfig = {maxOutputTokens = 2}}",
        f"{MODEL} request",
        "maxOutputTokens is set by the key max_output_tokens of this table",
    ),
    (MODEL, "request = {guided_json = {}}", f"{MODEL} request", "is what the experiment sends"),
    (MODEL, 'request = {text = "x"}', f"{MODEL} request", "text must be a table"),
    (MODEL, "request = {day = 2026-01-01}", f"{MODEL} request.day", "JSON"),
    (MODEL, 'request = {api_key = "k"}', f"{MODEL} request.api_key", "in the environment"),
    ('[models."codex/m"]', "request = {a = 1}", '[models."codex/m"] request', "no further fields"),
    (OWN, f"{AT_HOME}\nheaders_env = {{a = 'sk-1'}}", f"{OWN} headers_env.a", "must name an env"),
    (
        OWN,
        f"{AT_HOME.replace('openai-chat', 'google')}\nstream = true",
        f"{OWN} stream",
        "only op",
    ),
    (OWN, f"{AT_HOME}\nheaders_env = {{'a b' = 'A'}}", f"{OWN} headers_env.a b", "pattern"),
    ('[models."gpt"]', "", "[models.gpt]", "write models as provider/model"),
    ("[judges]", 'order = ["gpt"]', "[judges] order.1", "write models as provider/model"),
    ("[judges]", 'order = ["a/b", "a/b"]', "[judges] order", "names one twice"),
    (OWN, CHAT, f"{OWN} base_url", "is needed"),
    (OWN, f'{CHAT}\nbase_url = "127.0.0.1/v1"', f"{OWN} base_url", URL),
    ("[endpoints.openai]", AT_HOME, "[endpoints.openai]", "openai is a provider already"),
    ('[endpoints."a/b"]', AT_HOME, '[endpoints."a/b"]', "letters, digits, - and _"),
    ("[endpoints.a--b]", AT_HOME, "[endpoints.a--b]", "must neither hold -- nor end in -"),
    ("[endpoints.a-]", AT_HOME, "[endpoints.a-]", "must neither hold -- nor end in -"),
    (LOCAL, "", LOCAL, "needs either the path of a GGUF file or the package of one"),
    ('[local."a/b"]', 'path = "a.gguf"', '[local."a/b"]', "letters, digits, - and _"),
]


@pytest.mark.parametrize(("table", "keys", "where", "problem"), BAD)
def test_what_is_wrong_is_named_by_file_table_and_key(
    table: str, keys: str, where: str, problem: str
) -> None:
    with pytest.raises(BadSetting) as raised:
        parse_roster(f"{table}\n{keys}\n", PATH)
    words = str(raised.value)
    assert words.startswith(f"bias_roster=bias_models.toml: {where}: ")
    assert problem in words


SECRET = "sk-very-Secret-1234"  # noqa: S105  (no secret: what must not be repeated)
HOME = f"{OWN}\n{AT_HOME}\n"
WRITTEN: dict[str, str] = {
    "in a model": f'{MODEL}\napi_key = "{SECRET}"\n',
    "by another name": f'{HOME}access-token = "{SECRET}"\n',
    "at the top": f'OPENAI_API_KEY = "{SECRET}"\n',
    "deep down": f'{HOME}headers = {{ Authorization = "{SECRET}" }}\n',
    "in place of the variable": f'{HOME}api_key_env = "{SECRET}"\n',
    "in the URL": HOME.replace("http://", f"http://me:{SECRET}@"),
    "in place of a number": f'{MODEL}\nconcurrency = "{SECRET}"\n',
    "as a query": HOME.replace("/v1", f"/v1?k={SECRET}"),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_keys_in_the_file_are_refused_and_never_repeated(text: str) -> None:
    with pytest.raises(BadSetting) as raised:
        parse_roster(text, PATH)
    words = str(raised.value)
    assert "environment" in words or "concurrency" in text
    assert SECRET not in words
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"the file: cannot be read: No such file"):
        read_roster(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(BadSetting, match=r"latin\.toml: the file: is not UTF-8 text"):
        read_roster(tmp_path / "latin.toml")


def test_names_are_those_of_the_providers() -> None:
    assert set(BUILT_IN) == set(base._FACTORIES)
    assert set(WIRES) == set(base.WIRES)


@pytest.mark.requirement("CV-16", "NARR-12")
def test_the_shipped_roster_prices_pinned_models_and_judges() -> None:
    roster = read_roster(ROOT / "bias_models.toml")
    remote = {name: entry for name, entry in roster.models.items() if "local/" not in name}
    assert len(remote) == 7
    for name, entry in remote.items():
        provider, _ = base.split_model(name)
        assert provider in {"openai", "anthropic", "google"}
        assert entry.price is not None
        assert 0 < entry.price.input < entry.price.output
        # Limits are those of an account, which nobody here knows.
        assert (entry.requests_per_minute, entry.tokens_per_minute) == (None, None)
        # A budget needs a limit wherever an experiment leaves it open.
        assert entry.max_output_tokens
    assert roster.judges
    for judge in roster.judges:
        # The gate would refuse a judge that may become another model.
        assert judge in roster.models
        assert not is_unpinned(judge, roster.entry(judge))


def test_local_models_cost_nothing_are_seeded_and_stand_beside_the_roster() -> None:
    text = '[local.mine]\npath = "weights/a.gguf"\n[models."local/mine"]\ntemperature = 1.0\n'
    roster = parse_roster(text, Path("/somewhere/bias_models.toml"))
    assert roster.local["mine"].path == Path("/somewhere/weights/a.gguf")
    assert roster.defaults("local/mine") == Parameters(1.0, None, seeded=True)
    assert roster.entry("local/other").price == FREE
    assert roster.entry("openai/mine") == ModelEntry()


def test_the_roster_in_the_documentation_is_one() -> None:
    page = (ROOT / "docs" / "recording.md").read_text(encoding="utf-8")
    text, *_ = [block.partition("```")[0] for block in page.split("```toml\n")[1:]]
    roster = parse_roster(text, PATH)
    (entry,) = roster.models.values()
    # Every key is shown.
    assert all(f"\n{field.name} = " in text for field in fields(entry))
    assert set(roster.endpoints) == {"ollama"}
    assert set(roster.local) == {"mine"}
    assert roster.judges


ALIAS = ModelEntry(alias=True)


ALWAYS = [
    ("openai/gpt-5.1-2025-11-13", "gpt-5.1-2025-11-13"),
    ("lab/Qwen/Qwen3-8B", "qwen/qwen3-8b"),
    ("google/gemini-2.5-flash", "models/gemini-2.5-flash"),
    ("google/models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("openai/gpt-5.1", ""),
    ("anthropic/claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
]
FOR_AN_ALIAS = [
    ("openai/gpt-5.1", "gpt-5.1-2025-11-13"),
    ("openai/gpt-4", "gpt-4-0613"),
    ("anthropic/claude-sonnet-4", "claude-sonnet-4-20250514"),
    ("google/gemini-2.0-flash", "models/gemini-2.0-flash-001"),
]
NEVER = [
    ("openai/gpt-5.1", "gpt-4o"),
    ("openai/gpt-5.1", "gpt-5.1-mini-2025-11-13"),
    ("openai/gpt-5.1", "gpt-5.1-2025-11-13-preview"),
    ("openai/gpt-5.1", "gpt-5"),
    ("openai/gpt-5.1-2025-11-13", "gpt-5.1-2026-01-01"),
    ("google/gemini-2.5-flash", "gemini-2.5-flash-lite"),
    ("lab/llama-3-8b", "meta-llama/llama-3-8b"),
    ("lab/meta-llama/llama-3-8b", "llama-3-8b"),
    ("lab/meta-llama/llama-3-8b", "someone/llama-3-8b"),
    ("lab/llama", "/weights/llama.gguf"),
    ("anthropic/claude-3-5-haiku-latest", "claude-3-5-sonnet-20241022"),
    ("openai/gpt-5.1", "gpt-5.1-٢٠٢٥-١١-١٣"),
]


@pytest.mark.parametrize(("model", "served"), [*ALWAYS, *FOR_AN_ALIAS, *NEVER])
def test_which_names_may_answer_for_a_model(model: str, served: str) -> None:
    pair = (model, served)
    assert bool(other_model(model, [served], ModelEntry())) == (pair not in ALWAYS)
    other = other_model(model, [served, model.partition("/")[2]], ALIAS)
    refused = f"{served} answered where {model} was asked for."
    assert other.startswith(refused) if pair in NEVER else not other


def test_the_line_to_add_is_read_as_it_is_printed() -> None:
    """In the roster's own table, with what it allowed before; whatever is in the name."""
    model, served = "lab/llama", '/weights/"ll\\ama".gguf'
    entry = ModelEntry(served=frozenset({"llama-3"}))
    found = other_model(model, ["other", served], entry)
    line = found.partition("add ")[2].partition(' under [models."lab/llama"] in the roster')[0]
    text = f'[models."{model}"]\n{line}\n'
    assert set(tomllib.loads(text)["models"][model]["served"]) == {"llama-3", "other", served}
    allowed = parse_roster(text, Path("bias_models.toml")).entry(model)
    assert not other_model(model, [served, "OTHER"], allowed)


def test_names_are_shown_where_any_is_not_the_one_asked_for() -> None:
    assert answered_by("openai/one", ()) == ()
    assert answered_by("openai/one", ("one",)) == ()
    assert answered_by("openai/one", ("ONE",)) == ("ONE",)
    assert answered_by("openai/one", ("one", "one-2026-01-01")) == ("one", "one-2026-01-01")
    pairs = [("openai/one", "b"), ("openai/two", "two"), ("openai/one", "a"), ("openai/one", "a")]
    assert answered_text(pairs) == ("openai/one was answered by a, b",)
