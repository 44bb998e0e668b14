"""Small networks written by hand from their weights, with switches for skips, MLPs and norms.

They share no code with the networks that they stand for: no module of these is called.
"""

import math

import numpy as np
import torch
from torch.nn.functional import gelu, silu


class Hand:
    """Weights of a model by name, and the three switches."""

    def __init__(self, model, off):
        self.weights = {name: value.detach() for name, value in model.state_dict().items()}
        self.config = model.config
        self.skips, self.mlps, self.norms = ("skips" not in off, "mlps" not in off, "norms" not in off)

    def __getitem__(self, name):
        return self.weights[name]

    def linear(self, x, name):
        out = x @ self[f"{name}.weight"].T
        return out + self[f"{name}.bias"] if f"{name}.bias" in self.weights else out

    def layer_norm(self, x, name, slack):
        if not self.norms:
            return x
        centred = x - x.mean(dim=-1, keepdim=True)
        unit = centred / torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + slack)
        return unit * self[f"{name}.weight"] + self[f"{name}.bias"]

    def rms_norm(self, x, name, slack):
        if not self.norms:
            return x
        return self[f"{name}.weight"] * x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + slack)

    def norm_first(self, x, attention, mlp, norm_one, norm_two):
        """One layer whose norms come first."""
        a = attention(norm_one(x))
        x = x + a if self.skips else a
        if not self.mlps:
            return x
        m = mlp(norm_two(x))
        return x + m if self.skips else m

    def norm_last(self, x, attention, mlp, norm_one, norm_two):
        """One layer whose norms come last."""
        a = attention(x)
        x = norm_one(x + a if self.skips else a)
        if self.mlps:
            m = mlp(x)
            x = x + m if self.skips else m
        return norm_two(x)


def attended(q, k, v, *, causal):
    """Attention head by head and query by query; q, k, v have shape (batch, token, head, width)."""
    out = torch.zeros_like(q)
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            for i in range(q.shape[1]):
                last = i + 1 if causal else k.shape[1]
                scores = torch.stack([q[b, i, h] @ k[b, j, h] for j in range(last)]) / math.sqrt(q.shape[3])
                weights = torch.exp(scores - scores.max())
                weights = weights / weights.sum()
                out[b, i, h] = sum(weights[j] * v[b, j, h] for j in range(last))
    return out.flatten(2)


def gpt2(model, inputs, off):
    hand = Hand(model, off)
    ids = inputs["input_ids"]
    x = hand["wte.weight"][ids] + hand["wpe.weight"][: ids.shape[1]]
    slack, n_heads = hand.config.layer_norm_epsilon, hand.config.n_head
    states = [x]

    def map_of(name):
        return lambda x: x @ hand[f"{name}.weight"] + hand[f"{name}.bias"]

    for layer in range(hand.config.n_layer):
        name = f"h.{layer}"

        def attention(x, name=name):
            parts = map_of(f"{name}.attn.c_attn")(x).chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (n_heads, -1)) for part in parts)
            return map_of(f"{name}.attn.c_proj")(attended(q, k, v, causal=True))

        def mlp(x, name=name):
            wide = map_of(f"{name}.mlp.c_fc")(x)
            wide = 0.5 * wide * (1 + torch.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
            return map_of(f"{name}.mlp.c_proj")(wide)

        norms = (f"{name}.ln_1", f"{name}.ln_2")
        x = hand.norm_first(x, attention, mlp, *(lambda x, n=n: hand.layer_norm(x, n, slack) for n in norms))
        states.append(x)
    return states


def llama(model, inputs, off):
    hand = Hand(model, off)
    ids, config = inputs["input_ids"], hand.config
    x = hand["embed_tokens.weight"][ids]
    width = config.hidden_size // config.num_attention_heads
    places = torch.arange(ids.shape[1], dtype=x.dtype)
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
    angle = places[:, None] * rate
    cos, sin = angle.cos()[None, :, None], angle.sin()[None, :, None]

    def turned(x):
        one, two = x.chunk(2, dim=-1)
        return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1)

    states = [x]
    for layer in range(config.num_hidden_layers):
        name = f"layers.{layer}"

        def attention(x, name=name):
            q, k, v = (
                hand.linear(x, f"{name}.self_attn.{part}_proj").unflatten(-1, (-1, width)) for part in "qkv"
            )
            shared = config.num_attention_heads // config.num_key_value_heads
            k, v = (turned(k).repeat_interleave(shared, dim=2), v.repeat_interleave(shared, dim=2))
            return hand.linear(attended(turned(q), k, v, causal=True), f"{name}.self_attn.o_proj")

        def mlp(x, name=name):
            gate = silu(hand.linear(x, f"{name}.mlp.gate_proj"))
            return hand.linear(gate * hand.linear(x, f"{name}.mlp.up_proj"), f"{name}.mlp.down_proj")

        norms = (f"{name}.input_layernorm", f"{name}.post_attention_layernorm")
        x = hand.norm_first(
            x, attention, mlp, *(lambda x, n=n: hand.rms_norm(x, n, config.rms_norm_eps) for n in norms)
        )
        states.append(x)
    return states


def bert(model, inputs, off):
    hand = Hand(model, off)
    ids, config = inputs["input_ids"], hand.config
    slack = config.layer_norm_eps
    x = hand["embeddings.word_embeddings.weight"][ids] + hand["embeddings.token_type_embeddings.weight"][0]
    x = x + hand["embeddings.position_embeddings.weight"][: ids.shape[1]]
    # The norm of the embeddings stays.
    norms, hand.norms = hand.norms, True
    x = hand.layer_norm(x, "embeddings.LayerNorm", slack)
    hand.norms = norms
    states = [x]
    for layer in range(config.num_hidden_layers):
        name = f"encoder.layer.{layer}"

        def attention(x, name=name):
            q, k, v = (
                hand.linear(x, f"{name}.attention.self.{part}").unflatten(
                    -1, (config.num_attention_heads, -1)
                )
                for part in ("query", "key", "value")
            )
            return hand.linear(attended(q, k, v, causal=False), f"{name}.attention.output.dense")

        def mlp(x, name=name):
            return hand.linear(gelu(hand.linear(x, f"{name}.intermediate.dense")), f"{name}.output.dense")

        names = (f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm")
        x = hand.norm_last(x, attention, mlp, *(lambda x, n=n: hand.layer_norm(x, n, slack) for n in names))
        states.append(x)
    return states


def transformer_xl(model, inputs, off):
    hand = Hand(model, off)
    ids, config = inputs["input_ids"], hand.config
    x = hand["embedding.weight"][ids] * config.width**0.5
    length, d = ids.shape[1], config.head_width
    rate = 10000.0 ** (-np.arange(0, config.width, 2) / config.width)

    def sinusoid(distance):
        angle = torch.tensor(distance * rate, dtype=torch.float32)
        return torch.cat([angle.sin(), angle.cos()])[: config.width].to(x.dtype)

    states = [x]
    for layer in range(config.n_layers):
        name = f"layers.{layer}"

        def attention(x, name=name):
            part = f"{name}.attention"
            q = hand.linear(x, f"{part}.query").unflatten(-1, (-1, d))
            k, v = (y.unflatten(-1, (-1, d)) for y in hand.linear(x, f"{part}.key_value").chunk(2, dim=-1))
            u, w = hand[f"{part}.content_bias"][:, 0], hand[f"{part}.distance_bias"][:, 0]
            far = [hand.linear(sinusoid(i), f"{part}.distance").unflatten(-1, (-1, d)) for i in range(length)]
            out = torch.zeros_like(v)
            for b in range(x.shape[0]):
                for h in range(config.n_heads):
                    for i in range(length):
                        scores = torch.stack([
                            ((q[b, i, h] + u[h]) @ k[b, j, h] + (q[b, i, h] + w[h]) @ far[i - j][h]) / d**0.5
                            for j in range(i + 1)
                        ])  # fmt: skip
                        weights = torch.exp(scores) / torch.exp(scores).sum()
                        out[b, i, h] = sum(weights[j] * v[b, j, h] for j in range(i + 1))
            return hand.linear(out.flatten(2), f"{part}.output")

        def mlp(x, name=name):
            return hand.linear(gelu(hand.linear(x, f"{name}.feed_forward.0")), f"{name}.feed_forward.3")

        norms = (f"{name}.attention_norm", f"{name}.feed_forward_norm")
        x = hand.norm_first(x, attention, mlp, *(lambda x, n=n: hand.layer_norm(x, n, 1e-5) for n in norms))
        states.append(x)
    return states


def vision_transformer(model, inputs, off):
    hand = Hand(model, off)
    pixels, config = inputs["pixel_values"].double(), hand.config
    size, side = config.patch_size, config.image_size // config.patch_size
    patches = pixels.unflatten(3, (side, size)).unflatten(2, (side, size)).permute(0, 2, 4, 1, 3, 5)
    x = patches.flatten(3).flatten(1, 2) @ hand["patches.weight"].flatten(1).T + hand["patches.bias"]
    x = torch.cat([hand["cls_token"].expand(x.shape[0], -1, -1), x], dim=1) + hand["positions"]
    states = [x]
    for layer in range(config.n_layers):
        name = f"layers.{layer}"

        def attention(x, name=name):
            parts = hand.linear(x, f"{name}.attention.query_key_value").chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (config.n_heads, -1)) for part in parts)
            return hand.linear(attended(q, k, v, causal=False), f"{name}.attention.output")

        def mlp(x, name=name):
            return hand.linear(gelu(hand.linear(x, f"{name}.feed_forward.0")), f"{name}.feed_forward.2")

        norms = (f"{name}.attention_norm", f"{name}.feed_forward_norm")
        x = hand.norm_first(x, attention, mlp, *(lambda x, n=n: hand.layer_norm(x, n, 1e-5) for n in norms))
        states.append(x)
    return states


HANDWRITTEN = {
    "gpt2": gpt2, "llama": llama, "bert": bert, "zoo-txl": transformer_xl, "zoo-vit": vision_transformer,
}  # fmt: skip
