"""Loss of `model` and its gradient, derived and written by hand, as the baseline of the traced step.

It uses NumPy alone. Each `_x` returns its value and the residuals of `_x_back`. Arrays are overwritten after their last
use, as a careful NumPy programmer would.
"""

import functools
import math
from typing import Any

import numpy as np

SLOPES = (1.0, 0.125)
HEADS = len(SLOPES)
GELU_SCALE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715

Params = dict[str, Any]
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
def _slant(n: int, dtype: Any) -> np.ndarray:
    """Return the bias on the scores of each head: lower for far tokens, minus infinity for later ones."""
    distance = np.arange(n, dtype=dtype)[:, None] - np.arange(n, dtype=dtype)
    slopes = np.array(SLOPES, dtype)[:, None, None]
    return np.where(distance >= 0, -slopes * distance, -np.inf)


def _power_of_two(n: int) -> int:
    """Return the table length that serves n, so that a few tables serve every paragraph."""
    return 1 << max(n - 1, 0).bit_length()
