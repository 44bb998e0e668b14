"""Which of many damage curves are drawn."""

from haarbor.plots.style._drawn_curves import drawn_curves


def test_of_many_curves_those_of_least_damage_are_drawn_in_their_order():
    damages = {f"score {number}": float((7 * number) % 13) for number in range(13)} | {"random": 50.0}
    drawn = drawn_curves(damages)
    assert len(drawn) == 11
    assert drawn[-1] == "random"
    assert set(damages) - set(drawn) == {name for name, damage in damages.items() if 9 < damage < 50}
    assert drawn[:-1] == [name for name in damages if name in drawn[:-1]]


def test_few_curves_are_all_drawn_and_chance_comes_last():
    assert drawn_curves({"random": 0.0, "b": 2.0, "a": 1.0}) == ["b", "a", "random"]
    assert drawn_curves({"a": 1.0}) == ["a"]


def test_the_recommended_curve_is_among_them():
    damages = {f"score {number}": float(number) for number in range(13)}
    assert drawn_curves(damages, "score 11") == [*(f"score {number}" for number in range(9)), "score 11"]
    assert drawn_curves(damages, "score 3") == drawn_curves(damages)
