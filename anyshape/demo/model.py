"""Causal self-attention language model in plain NumPy, which knows nothing of tracing or gradients.

The same functions run eagerly on NumPy arrays. `n`, the number of tokens, is whatever the paragraph has.
"""

import math
from typing import Any

import numpy as np

import anyshape.numpy as anp

WIDTH = 64
LAYERS = 2
SLOPES = (1.0, 0.125)

Params = dict[str, Any]


def init(
    rng: np.random.Generator,
    vocabulary: int,
    *,
    width: int = WIDTH,
    layers: int = LAYERS,
    dtype: Any = np.float32,
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
