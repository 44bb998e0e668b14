"""A network of two layers of attention and nothing else, trained to repeat, in which induction heads form.

Random tokens are repeated after a random period; from the second time on, every next token is known. Two
layers learn it with a head that looks at the previous token and a head, above it, that looks behind the last
occurrence of the token (Elhage et al. 2021, Olsson et al. 2022). Takes some two minutes of processor time.

    python benchmarks/attention_only.py FOLDER
"""

import argparse
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

VOCABULARY, TOKENS = 48, 48


class CausalAttention(torch.nn.Module):
    """Attention whose queries and keys know the place of their token, and whose values do not."""

    def __init__(self, width, n_heads, n_places):
        super().__init__()
        self.num_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            torch.nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.places = torch.nn.Parameter(torch.randn(n_places, width) * 0.5)

    def forward(self, x):
        """Tokens that have seen the tokens before them."""
        batch, n_tokens, width = x.shape

        def split(y):
            return y.view(batch, n_tokens, self.num_heads, -1).transpose(1, 2)

        placed = x + self.places[:n_tokens]
        q, k, v = split(self.q_proj(placed)), split(self.k_proj(placed)), split(self.v_proj(x))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, n_tokens, width))


class Layer(torch.nn.Module):
    """Attention with a skip and a norm before it."""

    def __init__(self, width, n_heads, n_places):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = CausalAttention(width, n_heads, n_places)

    def forward(self, x):
        """The tokens with what attention adds to them."""
        return x + self.attention(self.norm(x))


class AttentionOnly(torch.nn.Module):
    """Tokens in, scores of the next token out: embedding, attention with skips, unembedding."""

    def __init__(self, n_layers=2, n_heads=8, width=96, vocabulary=VOCABULARY, n_places=TOKENS):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.layers = torch.nn.ModuleList(Layer(width, n_heads, n_places) for _ in range(n_layers))
        self.norm = torch.nn.LayerNorm(width)
        self.scores = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, input_ids):
        """Scores of the next token."""
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.scores(self.norm(x))


def repeated(n_rows, generator, n_tokens=TOKENS, vocabulary=VOCABULARY):
    """Rows of random tokens, each repeated after a period of its own, and where the next token is known."""
    periods = torch.randint(8, n_tokens // 2 + 1, (n_rows, 1), generator=generator)
    base = torch.randint(0, vocabulary, (n_rows, n_tokens), generator=generator)
    places = torch.arange(n_tokens + 1)[None] % periods
    rows = torch.gather(base, 1, places)
    return rows[:, :-1], rows[:, 1:], torch.arange(n_tokens)[None] >= periods


def trained(n_steps=900, rows=64, seed=0, on_step=None, **sizes):
    """The network after training, in eval mode."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = AttentionOnly(**sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=n_steps)
    for step in range(n_steps):
        tokens, answers, known = repeated(rows, generator)
        loss = F.cross_entropy(model(tokens)[known], answers[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if on_step is not None and (step % 100 == 0 or step == n_steps - 1):
            on_step(step, float(loss.detach()))
    return model.eval()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    network = trained(on_step=lambda step, loss: print(f"step {step}: loss {loss:.3f}", flush=True))
    save_file(network.state_dict(), folder / "attention_only.safetensors")
