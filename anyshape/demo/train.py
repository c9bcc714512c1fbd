"""`anyshape demo`: train the model on one paragraph per step, each of its own length, from one trace.

Some steps are run twice, by the library and by `handwritten`, on the same paragraph and parameters. That is
where the time comparison and the gradient difference in the report come from.

English that every Python installation has: the paragraphs of `pydoc_data.topics`, one character per token.

A paragraph keeps its own length. Nothing here pads, buckets or cuts.

Loss of `model` and its gradient, derived and written by hand, as the baseline of the traced step.

It uses NumPy alone. Each `_x` returns its value and the residuals of `_x_back`. Arrays are overwritten after their last
use, as a careful NumPy programmer would.

Causal self-attention language model in plain NumPy, which knows nothing of tracing or gradients.

The same functions run eagerly on NumPy arrays. `n`, the number of tokens, is whatever the paragraph has.
"""

import argparse
import functools
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import optree

import anyshape
import anyshape.numpy as anp
from anyshape.support.packages import matplotlib_figure
from anyshape.support.terminal import print_table, progress_bar

SHORTEST, LONGEST = 20, 400

START = "\n"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
ALPHABET = START + "".join(map(chr, range(32, 127))) + UNKNOWN
VOCABULARY = len(ALPHABET)

_TOKENS = {character: token for token, character in enumerate(ALPHABET)}
_PLAIN = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")


def paragraphs() -> list[str]:
    """Return the distinct paragraphs of prose, each on one line, in the order of the topics.

    >>> len(paragraphs()) > 500
    True
    """
    blocks = (block for topic in topics.values() for block in re.split(r"\n[ \t]*\n", topic))
    lines = (" ".join(block.translate(_PLAIN).split()) for block in blocks if _is_prose(block))
    return [line for line in dict.fromkeys(lines) if SHORTEST <= len(line) < LONGEST]


def encode(text: str) -> np.ndarray:
    """Return the tokens of a text, after a start token, so that the first character is predicted too.

    >>> decode(encode("caf\u00e9"))[1:] == "caf" + UNKNOWN
    True
    """
    unknown = _TOKENS[UNKNOWN]
    return np.array([_TOKENS[START], *(_TOKENS.get(character, unknown) for character in text)])


def decode(tokens: np.ndarray) -> str:
    r"""Return the text of the tokens, the start token included.

    >>> decode(encode("a slice"))
    '\na slice'
    """
    return "".join(ALPHABET[token] for token in tokens)


def _is_prose(block: str) -> bool:
    """Return True for prose, which ends like a sentence; headings are underlined, grammar and code are indented."""
    lines = block.strip("\n").splitlines()
    flush = bool(lines) and not lines[0].startswith("    ")
    underlined = any(re.fullmatch(r"\s*([*=\-~^+])\1{2,}\s*", line) for line in lines)
    return flush and not underlined and block.rstrip().endswith((".", ":", ";", "?", "!", ")"))


WIDTH = 64
LAYERS = 2
SLOPES = (1.0, 0.125)

Params = dict[str, Any]


def init(
    rng: np.random.Generator, vocabulary: int, *, width: int = WIDTH, layers: int = LAYERS, dtype: Any = np.float32
) -> Params:
    """Return random parameters; the prediction starts out uniform, for a loss of log(vocabulary)."""

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) / math.sqrt(rows)).astype(dtype)

    def block() -> Params:
        return {
            "attention_norm": np.ones(width, dtype),
            "qkv": matrix(width, 3 * width),
            "merge": matrix(width, width),
            "mlp_norm": np.ones(width, dtype),
            "grow": matrix(width, 4 * width),
            "grow_bias": np.zeros(4 * width, dtype),
            "shrink": matrix(4 * width, width),
            "shrink_bias": np.zeros(width, dtype),
        }

    return {
        "embed": rng.standard_normal((vocabulary, width)).astype(dtype),
        "blocks": [block() for _ in range(layers)],
        "norm": np.ones(width, dtype),
        "predict": np.zeros((width, vocabulary), dtype),
    }


def loss(params: Params, tokens: Any) -> Any:
    """Return the mean cross-entropy, in nats, of each token given those before it."""
    scores = logits(params, tokens[:-1])
    picked = (scores * one_hot(tokens[1:], scores.shape[-1], scores.dtype)).sum(axis=-1)
    return np.mean(logsumexp(scores) - picked)


def logits(params: Params, tokens: Any) -> Any:
    """Return scores of every next token, one row for each token given."""
    embed = params["embed"]
    x = one_hot(tokens, embed.shape[0], embed.dtype) @ embed
    for block in params["blocks"]:
        x = x + attention(layer_norm(x, block["attention_norm"]), block)
        x = x + mlp(layer_norm(x, block["mlp_norm"]), block)
    return layer_norm(x, params["norm"]) @ params["predict"]


def attention(x: Any, block: Params) -> Any:
    """Return causal self-attention; each head favours near tokens by a slope of its own.

    The slopes (ALiBi) are all the model knows of order, and they mean the same at any length.
    """
    n, width = x.shape
    heads = len(SLOPES)
    qkv = (x @ block["qkv"]).reshape(n, 3, heads, width // heads).transpose(1, 2, 0, 3)
    query, key, value = qkv[0], qkv[1], qkv[2]
    scores = query @ key.swapaxes(-1, -2) / (width // heads) ** 0.5
    position = anp.arange(n, dtype=x.dtype)
    distance = position[:, None] - position[None, :]
    slopes = np.array(SLOPES, x.dtype)[:, None, None]
    weights = softmax(np.where(distance >= 0, scores - slopes * distance, -np.inf))
    return (weights @ value).transpose(1, 0, 2).reshape(n, width) @ block["merge"]


def mlp(x: Any, block: Params) -> Any:
    """Apply two matrices with a gelu between them to each token."""
    return gelu(x @ block["grow"] + block["grow_bias"]) @ block["shrink"] + block["shrink_bias"]


def one_hot(tokens: Any, vocabulary: int, dtype: Any) -> Any:
    """Return a row for each token, with a one in the token's column."""
    return (tokens[:, None] == anp.arange(vocabulary)).astype(dtype)


def layer_norm(x: Any, scale: Any) -> Any:
    """Return each row brought to mean zero and variance one, then scaled."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale


def softmax(x: Any) -> Any:
    """Return weights over the last axis that sum to one."""
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def logsumexp(x: Any) -> Any:
    """Return log(sum(exp(x))) over the last axis without overflow."""
    top = x.max(axis=-1, keepdims=True)
    return (np.log(np.exp(x - top).sum(axis=-1, keepdims=True)) + top).squeeze(axis=-1)


def gelu(x: Any) -> Any:
    """Return the Gaussian error linear unit, by its usual tanh approximation."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


STEPS = 6000
SECONDS = 50.0  # time limit; a slow machine runs fewer steps
PEAK_RATE = 3e-3
HELD_OUT = 40
COMPARE_EVERY = 10

Step = Callable[[Params, np.ndarray], tuple[Any, Params]]


@dataclass
class History:
    """Measurements of a training run; `compared` holds the seconds (library, by hand) of steps that ran twice."""

    losses: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    first_call: float = 0.0
    compared: list[tuple[float, float]] = field(default_factory=list)
    difference: float = 0.0
    held_out: tuple[float, float] = (math.nan, math.nan)


def train(step: Step, *, steps: int, seconds: float, seed: int, progress: bool) -> History:
    """Train a fresh model by `step` for at most so many steps and seconds, and return the measurements."""
    rng = np.random.default_rng(seed)
    texts = [encode(text) for text in paragraphs()]
    rng.shuffle(texts)
    held_out, texts = texts[:HELD_OUT], texts[HELD_OUT:]
    params = init(rng, VOCABULARY)
    history, done = History(), 0.0
    adam = anyshape.optimize.adam(lambda index: rate_at(index, done), b2=0.99)
    state = adam.init(params)
    before = mean_loss(params, held_out)
    text = "step {step}, loss {loss:.3f}"
    with progress_bar("training", 1.0, text, disable=not progress) as show:
        start = time.perf_counter()
        for index, tokens in enumerate(epochs(rng, texts)):
            if (done := max(index / steps, (time.perf_counter() - start) / seconds)) >= 1:
                break
            value, grads = _run_step(step, params, tokens, index, history)
            updates, state = adam.update(grads, state)
            params = anyshape.optimize.apply_updates(params, updates)
            history.losses.append(float(value))
            history.lengths.append(len(tokens))
            show(done, loss=np.mean(history.losses[-100:]), step=index + 1)
        show(1.0, loss=np.mean(history.losses[-100:]), step=len(history.losses))
    history.held_out = before, mean_loss(params, held_out)
    return history


def epochs(rng: np.random.Generator, texts: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the texts in a new order each time round, without end."""
    while True:
        yield from (texts[index] for index in rng.permutation(len(texts)))


def rate_at(index: int, done: float) -> float:
    """Return the learning rate of a step: a short rise, then half a cosine down to a tenth."""
    rise = min(1.0, (index + 1) / 100)
    fall = 0.55 + 0.45 * math.cos(math.pi * done)
    return PEAK_RATE * rise * fall


def mean_loss(params: Params, texts: list[np.ndarray]) -> float:
    """Return the loss per character over some texts, by the model run eagerly on NumPy arrays."""
    sizes = [len(tokens) - 1 for tokens in texts]
    return float(np.average([loss(params, tokens) for tokens in texts], weights=sizes))


def _run_step(step: Step, params: Params, tokens: np.ndarray, index: int, history: History) -> tuple[Any, Params]:
    if index == 0:
        result, history.first_call = _timed(step, params, tokens)
        return result
    if index % COMPARE_EVERY:
        return step(params, tokens)
    # The second of the two finds the parameters in the cache, so the order alternates.
    if index // COMPARE_EVERY % 2:
        result, ours = _timed(step, params, tokens)
        expected, theirs = _timed(value_and_grad, params, tokens)
    else:
        expected, theirs = _timed(value_and_grad, params, tokens)
        result, ours = _timed(step, params, tokens)
    history.compared.append((ours, theirs))
    history.difference = max(history.difference, relative_difference(result[1], expected[1]))
    return result


def _timed(step: Step, params: Params, tokens: np.ndarray) -> tuple[tuple[Any, Params], float]:
    start = time.perf_counter()
    result = step(params, tokens)
    return result, time.perf_counter() - start


def relative_difference(tree: Any, expected: Any) -> float:
    """Return the norm of the difference of two trees of arrays, over the norm of the second."""
    pairs = list(zip(optree.tree_leaves(tree), optree.tree_leaves(expected), strict=True))
    gap = sum(float(np.sum((x - y) ** 2)) for x, y in pairs)
    return math.sqrt(gap / sum(float(np.sum(y * y)) for _, y in pairs))


def report(history: History, traces: int) -> list[tuple[str, str]]:
    """Return the measurements as the rows of a table."""
    rows = [
        ("steps", f"{len(history.losses)}"),
        ("distinct lengths", f"{len(set(history.lengths))}"),
        ("traces", f"{traces}"),
        ("first call, trace included", f"{history.first_call:.2f} s"),
    ]
    if history.compared:
        ours, theirs = np.median(history.compared, axis=0)
        ratio = np.median([mine / other for mine, other in history.compared])
        rows += [
            ("a step, anyshape", f"{1e3 * ours:.2f} ms (median of {len(history.compared)})"),
            ("the same step, NumPy by hand", f"{1e3 * theirs:.2f} ms"),
            ("anyshape / by hand", f"{ratio:.2f} (median of ratios)"),
            ("largest gradient difference", f"{history.difference:.1e} (relative)"),
        ]
    return [
        *rows,
        ("loss, first and last steps", f"{history.losses[0]:.3f} -> {_tail(history.losses):.3f}"),
        ("held-out loss", "{:.3f} -> {:.3f} nats per character".format(*history.held_out)),
    ]


def draw(history: History, path: Path) -> None:
    """Write the loss of every step and its running mean as a picture."""
    losses = np.array(history.losses)
    window = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    figure = matplotlib_figure.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(losses, color="tab:blue", alpha=0.25, linewidth=0.5, label="each paragraph")
    axes.plot(np.arange(window - 1, len(losses)), smooth, color="tab:blue", label=f"mean of {window}")
    axes.plot(len(losses) - 1, history.held_out[1], "o", color="tab:red", label="held-out paragraphs")
    axes.set(xlabel="step", ylabel="loss (nats per character)", ylim=(0, None))
    axes.set_title(f"{len(set(history.lengths))} paragraph lengths, no padding")
    axes.legend()
    figure.savefig(path, dpi=150)


def _tail(losses: list[float]) -> float:
    """Return the mean of the last twentieth: single paragraphs scatter widely."""
    return float(np.mean(losses[-max(1, len(losses) // 20) :]))


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the options of `anyshape demo`."""
    parser = argparse.ArgumentParser(prog="anyshape demo", description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=_positive, default=STEPS, help="paragraphs to train on (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time to train for at the most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the parameters and the order (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("demo_loss.png"), help="the loss curve (%(default)s)")
    parser.add_argument("--no-progress", action="store_true", help="print the report only")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def main(argv: list[str] | None = None) -> int:
    """Run the demo; return 1 if any length needed a trace of its own."""
    options = parse(argv)
    step = anyshape.jit(anyshape.value_and_grad(loss))
    history = train(
        step, steps=options.steps, seconds=options.seconds, seed=options.seed, progress=not options.no_progress
    )
    traces = step.cache_info().traces
    print_table(report(history, traces))
    try:
        draw(history, options.out)
    except ModuleNotFoundError:
        print("loss curve: not drawn, as matplotlib is not installed")
    else:
        print(f"loss curve: {options.out}")
    return 0 if traces == 1 else 1


HEADS = len(SLOPES)
GELU_SCALE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715

Saved = tuple[Any, ...]


def value_and_grad(params: Params, tokens: np.ndarray) -> tuple[Any, Params]:
    """Return the mean cross-entropy of each token given those before it, and its gradient by every parameter."""
    inputs, targets = tokens[:-1], tokens[1:]
    embed, predict = params["embed"], params["predict"]
    n = len(inputs)
    slant = _slant(_power_of_two(n), embed.dtype)[:, :n, :n]

    x = embed[inputs]
    saved = []
    for block in params["blocks"]:
        x, residuals = _block(x, block, slant)
        saved.append(residuals)
    normed, norm_residuals = _layer_norm(x, params["norm"])
    value, ct = _cross_entropy(normed @ predict, targets)

    d_predict = normed.T @ ct
    ct, d_norm = _layer_norm_back(ct @ predict.T, params["norm"], norm_residuals)
    d_blocks = []
    for block, residuals in zip(reversed(params["blocks"]), reversed(saved), strict=True):
        ct, d_block = _block_back(ct, block, residuals)
        d_blocks.append(d_block)
    d_embed = (inputs == np.arange(len(embed))[:, None]).astype(embed.dtype) @ ct
    return value, {"embed": d_embed, "blocks": d_blocks[::-1], "norm": d_norm, "predict": d_predict}


def _block(x: np.ndarray, block: Params, slant: np.ndarray) -> tuple[np.ndarray, Saved]:
    """Return attention, then the MLP, each added to its input."""
    normed, first_norm = _layer_norm(x, block["attention_norm"])
    seen, attended = _attention(normed, block, slant)
    x = np.add(x, seen, out=seen)
    normed, second_norm = _layer_norm(x, block["mlp_norm"])
    grown, hidden = _mlp(normed, block)
    return np.add(x, grown, out=grown), (first_norm, attended, second_norm, hidden)


def _block_back(ct: np.ndarray, block: Params, saved: Saved) -> tuple[np.ndarray, Params]:
    first_norm, attended, second_norm, hidden = saved
    d_normed, d_mlp = _mlp_back(ct, block, hidden)
    d_x, d_mlp_norm = _layer_norm_back(d_normed, block["mlp_norm"], second_norm)
    d_x += ct
    d_normed, d_attention = _attention_back(d_x, block, attended)
    d_first, d_attention_norm = _layer_norm_back(d_normed, block["attention_norm"], first_norm)
    d_first += d_x
    return d_first, {"attention_norm": d_attention_norm, **d_attention, "mlp_norm": d_mlp_norm, **d_mlp}


def _attention(x: np.ndarray, block: Params, slant: np.ndarray) -> tuple[np.ndarray, Saved]:
    n, width = x.shape
    split = (x @ block["qkv"]).reshape(n, 3, HEADS, width // HEADS).transpose(1, 2, 0, 3)
    query, key, value = split
    query *= 1 / math.sqrt(width // HEADS)
    weights = query @ key.swapaxes(-1, -2)
    weights += slant
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    merged = (weights @ value).transpose(1, 0, 2).reshape(n, width)
    return merged @ block["merge"], (x, split, weights, merged)


def _attention_back(ct: np.ndarray, block: Params, saved: Saved) -> tuple[np.ndarray, Params]:
    x, (query, key, value), weights, merged = saved
    n, width = x.shape
    d_seen = (ct @ block["merge"].T).reshape(n, HEADS, width // HEADS).transpose(1, 0, 2)
    d_scores = d_seen @ value.swapaxes(-1, -2)
    # Softmax: its Jacobian at w sends d to w * (d - w.d), and w.d is seen.d_seen, a smaller sum.
    seen = merged.reshape(n, HEADS, width // HEADS).transpose(1, 0, 2)
    d_scores -= np.einsum("hnd,hnd->hn", seen, d_seen)[:, :, None]
    d_scores *= weights
    d_split = np.empty((n, 3, HEADS, width // HEADS), x.dtype)
    d_query, d_key, d_value = d_split.transpose(1, 2, 0, 3)
    np.matmul(d_scores, key, out=d_query)
    d_query *= 1 / math.sqrt(width // HEADS)
    np.matmul(d_scores.swapaxes(-1, -2), query, out=d_key)
    np.matmul(weights.swapaxes(-1, -2), d_seen, out=d_value)
    d_qkv = d_split.reshape(n, 3 * width)
    return d_qkv @ block["qkv"].T, {"qkv": x.T @ d_qkv, "merge": merged.T @ ct}


def _mlp(x: np.ndarray, block: Params) -> tuple[np.ndarray, Saved]:
    grown = x @ block["grow"]
    grown += block["grow_bias"]
    bend = grown * grown
    bend *= GELU_SCALE * GELU_CUBE
    bend += GELU_SCALE
    bend *= grown
    np.tanh(bend, out=bend)
    active = bend + 1
    active *= grown
    active *= 0.5
    out = active @ block["shrink"]
    out += block["shrink_bias"]
    return out, (x, grown, bend, active)


def _mlp_back(ct: np.ndarray, block: Params, saved: Saved) -> tuple[np.ndarray, Params]:
    x, grown, bend, active = saved
    d_active = ct @ block["shrink"].T
    # gelu(g) = g (1 + t) / 2 with t = tanh(s (g + c g^3)), so 2 gelu' = 1 + t + (1 - t^2) s (g + 3 c g^3).
    slope = grown * grown
    slope *= 3 * GELU_SCALE * GELU_CUBE
    slope += GELU_SCALE
    slope *= grown
    slope *= 1 - bend * bend
    slope += bend
    slope += 1
    slope *= 0.5
    d_grown = np.multiply(slope, d_active, out=slope)
    return d_grown @ block["grow"].T, {
        "grow": x.T @ d_grown,
        "grow_bias": d_grown.sum(axis=0),
        "shrink": active.T @ ct,
        "shrink_bias": ct.sum(axis=0),
    }


def _layer_norm(x: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, Saved]:
    normed = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.einsum("nd,nd->n", normed, normed)[:, None] / x.shape[-1] + 1e-5)
    normed /= deviation
    return normed * scale, (normed, deviation)


def _layer_norm_back(ct: np.ndarray, scale: np.ndarray, saved: Saved) -> tuple[np.ndarray, np.ndarray]:
    normed, deviation = saved
    d_scale = np.einsum("nd,nd->d", ct, normed)
    d_x = ct * scale
    along = np.einsum("nd,nd->n", d_x, normed)[:, None] / ct.shape[-1]
    d_x -= d_x.mean(axis=-1, keepdims=True)
    d_x -= normed * along
    d_x /= deviation
    return d_x, d_scale


def _cross_entropy(scores: np.ndarray, targets: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the mean loss and its gradient by the scores, which it overwrites."""
    n = len(targets)
    rows = np.arange(n)
    scores -= scores.max(axis=-1, keepdims=True)
    picked = scores[rows, targets]
    np.exp(scores, out=scores)
    totals = scores.sum(axis=-1)
    value = np.mean(np.log(totals) - picked)
    scores /= totals[:, None]
    scores[rows, targets] -= 1
    scores /= n
    return value, scores


@functools.lru_cache(maxsize=32)
def _slant(n: int, dtype) -> np.ndarray:
    """Return the bias on the scores of each head: lower for far tokens, minus infinity for later ones."""
    distance = np.arange(n, dtype=dtype)[:, None] - np.arange(n, dtype=dtype)
    slopes = np.array(SLOPES, dtype)[:, None, None]
    return np.where(distance >= 0, -slopes * distance, -np.inf)


def _power_of_two(n: int) -> int:
    """Return the table length that serves n, so that a few tables serve every paragraph."""
    return 1 << max(n - 1, 0).bit_length()
