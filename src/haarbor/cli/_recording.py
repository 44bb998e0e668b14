"""What haarbor capture and haarbor look are asked to record, checked first and then recorded into a run."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from haarbor.cli._heads_text import heads_text
from haarbor.cli._said_line import say
from haarbor.cli._size_text import size_text
from haarbor.errors import CaptureError, HaarborError, SettingError

if TYPE_CHECKING:
    from haarbor.capturing import LoadedModel
    from haarbor.capturing.inputs import Samples
    from haarbor.store import Run, RunPlan
    from haarbor.zoo import TransformerXL

__all__ = ["Recording"]

_SAME = "same"
_SAME_TEXT = "what the encoder reads, one token later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What to record of which model, with the options of the command line."""

    model: str
    data: str | None
    """None for the text and images in the package, or noise where a model takes neither."""
    out: str
    batches: int
    tokens: int | None = None
    """None for the usual number, or as many as the model takes."""
    usual_tokens: int = 256
    logits: bool = False
    mode: Literal["auto", "faithful", "transparent"] = "auto"
    pool: int = 1
    dtype: Literal["float16", "float32"] = "float32"
    lines: bool = False
    memory: bool = False
    leave_out: tuple[str, ...] = ()
    groups: Literal["refuse", "heads"] = "refuse"
    generate: int | None = None
    target: str | None = None
    """What the decoder of an encoder-decoder reads; None and "same" for what the encoder reads."""
    gguf: str | None = None
    device: str = "cpu"
    seed: int = 0
    command: str = "capture"
    """The command that makes such a run."""
    recorder: Callable[..., Run] | None = None
    """What records, called as haarbor.capture is; that itself if None."""

    def require(self) -> None:
        """Refuse what is wrong with the options and paths, before anything slow begins.

        Raises
        ------
        HaarborError
        """
        from haarbor.cli._capture_paths import require_data, require_model, require_place

        if self.pool > 1 and self.logits:
            raise SettingError(
                "--pool must go without --logits; the softmax of their means is not the mean of the "
                "attention. Leave one out."
            )
        if self.memory and self.lines:
            raise SettingError(
                "--memory must follow one text; --lines makes every line a text. Leave one out."
            )
        for option, given in (("--memory", self.memory), ("--target", self.has_target)):
            if given and self.generate is not None:
                reason = "a prompt without a memory" if option == "--memory" else "the model's own words"
                raise SettingError(
                    f"--generate must follow {reason}; {option} was given, too. Leave one out."
                )
        require_model(self.model)
        if self.data is not None:
            require_data(self.data)
        if self.has_target:
            require_data(str(self.target), "--target")
        require_place(self.out)

    @property
    def has_target(self) -> bool:
        """Whether the decoder is to read another text than the encoder."""
        return self.target not in (None, _SAME)

    @property
    def told_mode(self) -> str:
        """The mode that the run is made with."""
        usual = "faithful" if self.pool == 1 else "transparent"
        return usual if self.mode == "auto" else self.mode

    def run(self, tell: Callable[[str], None]) -> Run:
        """Load the model and record it, saying what is done; a run that was begun before is continued.

        Parameters
        ----------
        tell : function of str
            Told what was recorded, in a line.

        Returns
        -------
        Run

        Raises
        ------
        HaarborError
        """
        with _told_when_interrupted(self.out):
            say(f"Loading {self.model} ...")
            from haarbor.capturing import load_model

            loaded = load_model(self.model, gguf_file=self.gguf, device=self.device)
            for note in loaded.notes:
                say(note)
            return self._recorded(loaded, tell)

    def _recorded(self, loaded: LoadedModel, tell: Callable[[str], None]) -> Run:
        from haarbor.capturing import begun_run, capture, continued_plan
        from haarbor.cli._capture_line import capture_line
        from haarbor.cli._capture_words import CAPTURE_WORDS, require_same_flags
        from haarbor.cli._progress import shown_steps

        data, tokens = self._data(loaded), self._tokens(loaded)
        samples = self._samples(loaded, data, tokens)
        told_target = self._told_target(loaded, samples)
        words = CAPTURE_WORDS
        if self.generate is not None:
            words = {**CAPTURE_WORDS, "tokens": "{} tokens per batch, answers included"}

        def on_plan(plan: RunPlan) -> None:
            begun = begun_run(self.out)
            if begun is not None:
                require_same_flags(begun.plan, plan, self.out)
                continued_plan(begun.plan, plan, self.out, words)
                say(f"Going on: {begun.n_batches} of {plan.n_batches} batches are complete.")
            say(_size_line(plan.n_bytes))

        begin = time.perf_counter()
        with shown_steps() as advance:
            advance("capturing", 0, len(samples))
            run = (self.recorder or capture)(
                loaded.model,
                samples,
                self.out,
                content=("probabilities", "logits") if self.logits else ("probabilities",),
                mode=self.mode,
                dtype=self.dtype,
                pool=self.pool,
                leave_out=self.leave_out,
                groups=self.groups,
                name=loaded.name,
                settings={
                    "data": samples.description,
                    "seed": self.seed,
                    "model_dtype": str(next(loaded.model.parameters()).dtype).removeprefix("torch."),
                    "command": capture_line(
                        self.model, data, self.out, self._options(loaded, data, tokens), self.command
                    ),
                    **({} if told_target is None else {"target": told_target}),
                },
                on_progress=advance,
                on_plan=on_plan,
            )
        batches = f"{run.n_batches} batch{'' if run.n_batches == 1 else 'es'}"
        tell(
            f"{run.model}: {heads_text(run.plan)}, {batches}, {size_text(run.size_on_disk())} on disk, "
            f"{time.perf_counter() - begin:.1f} s."
        )
        return run

    def _data(self, loaded: LoadedModel) -> str:
        """The data that were asked for, or those that the model can take."""
        from haarbor.capturing.inputs import TokenInputs

        if loaded.takes is None:
            raise CaptureError(
                f"{loaded.name} takes inputs that the command line does not make; "
                "call haarbor.capture from Python."
            )
        if self.generate is not None and not isinstance(loaded.takes, TokenInputs):
            raise CaptureError(
                f"--generate must follow a text; {loaded.name} takes none. Leave it out, or choose a "
                "language model."
            )
        if self.has_target and getattr(loaded.takes, "decoder", None) is None:
            raise CaptureError(
                f"--target is for a model with an encoder and a decoder; {loaded.name} has no decoder beside "
                "an encoder. Leave it out."
            )
        if self.data is not None:
            return self.data
        reads = isinstance(loaded.takes, TokenInputs) and loaded.tokenizer is not None
        if reads or loaded.images is not None:
            what = "text" if reads else "images"
            say(f"Data: the {what} in the package; --data DATA takes your own.")
            return "zoo"
        say("Data: noise, as nothing in the package fits the model; --data DATA takes your own.")
        return "random"

    def _tokens(self, loaded: LoadedModel) -> int:
        """Tokens per batch: as asked for, or the usual number, or as many as the model takes."""
        from haarbor.capturing.inputs import TokenInputs

        takes: Any = loaded.takes
        if self.tokens is not None:
            return self.tokens
        limits = [getattr(part, "max_tokens", None) for part in (takes, getattr(takes, "decoder", None))]
        least: int = min([self.usual_tokens, *(limit for limit in limits if limit is not None)])
        # An answer takes places, too.
        if self.generate is not None and isinstance(takes, TokenInputs) and takes.decoder is None:
            room = self.usual_tokens if takes.max_tokens is None else takes.max_tokens - self.generate
            least = max(2, min(least, room))
        if least < self.usual_tokens:
            say(f"--tokens {least}: the model has places for no more.")
        return least

    def _samples(self, loaded: LoadedModel, data: str, tokens: int) -> Samples:
        from haarbor.capturing.inputs import (
            generated_samples,
            memory_window_samples,
            named_samples,
            target_tokenizer,
            targeted_samples,
            windows_to_fill,
        )

        takes: Any = loaded.takes
        named: dict[str, Any] = {
            "n_tokens": tokens,
            "split": "lines" if self.lines else "whole",
            "seed": self.seed,
        }
        n_samples = self.batches + (windows_to_fill(loaded.model, tokens) if self.memory else 0)
        samples = named_samples(data, takes=takes, tokenizer=loaded.tokenizer, n_samples=n_samples, **named)
        if self.memory:
            samples = memory_window_samples(samples, cast("TransformerXL", loaded.model))
        if self.has_target:
            from haarbor.capturing.inputs import TokenInputs

            decoder = takes.decoder
            read = TokenInputs(
                vocab_size=decoder.vocab_size,
                max_tokens=decoder.max_tokens,
                reserved_ids=decoder.reserved_ids,
            )
            targets = named_samples(
                str(self.target),
                takes=read,
                tokenizer=target_tokenizer(loaded.tokenizer),
                n_samples=n_samples,
                **{**named, "seed": self.seed + 1},
            )
            samples = targeted_samples(samples, targets, takes=takes)
        if self.generate is not None:
            samples = generated_samples(
                samples, loaded.model, n_tokens=self.generate, tokenizer=loaded.tokenizer
            )
        return samples

    def _told_target(self, loaded: LoadedModel, samples: Samples) -> str | None:
        """Say what the decoder reads; what the run is to keep of it, where the samples do not say it."""
        from haarbor.capturing.inputs import TARGET, TokenInputs

        if getattr(loaded.takes, "decoder", None) is None:
            return None
        if self.generate is not None:
            say("The decoder reads the answer that the model writes.")
            return "the answer that the model writes"
        if self.has_target:
            say(f"The decoder reads {samples.settings[TARGET]}.")
            return None
        told = _SAME_TEXT if isinstance(loaded.takes, TokenInputs) else "random tokens"
        say(f"The decoder reads {told}; --target DATA gives it another text.")
        return told

    def _options(self, loaded: LoadedModel, data: str, tokens: int) -> dict[str, Any]:
        """Options of the command that makes this run."""
        from haarbor.capturing.inputs import TokenInputs

        return {
            "--tokens": tokens if isinstance(loaded.takes, TokenInputs) else None,
            "--batches": self.batches,
            "--logits": self.logits,
            "--mode": self.told_mode,
            "--pool": self.pool if self.pool > 1 else None,
            "--dtype": self.dtype,
            "--lines": self.lines,
            "--memory": self.memory,
            "--leave-out": self.leave_out,
            "--groups": self.groups if self.groups != "refuse" else None,
            "--generate": self.generate,
            "--target": self.target if self.has_target else None,
            "--gguf": self.gguf,
            "--seed": self.seed if "random" in (data, self.target) else None,
        }


@contextmanager
def _told_when_interrupted(out: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        # The handler of interrupts for all commands prints a line of its own; one line is enough.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            typer.echo(f"haarbor: stopped; {_kept(out)}", err=True)
        raise


def _kept(out: str) -> str:
    """What an interrupted capture has written, in words."""
    from haarbor.store import open_run

    try:
        run = open_run(out)
    except HaarborError:
        return "nothing was written."
    total = "" if run.plan.n_batches is None else f" of {run.plan.n_batches}"
    return f"{run.n_batches}{total} batches are complete in {out}. Give the same command again to go on."


def _size_line(n_bytes: int | None) -> str:
    if n_bytes is None:
        return "The run grows with its batches; its size is not known in advance."
    return f"The run will take at most {size_text(n_bytes)} (before compression)."
