"""Reads the form of a page as a browser would send it: every input with its value, as it is chosen."""

from html.parser import HTMLParser


class _Form(HTMLParser):
    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self._id, self._inside = form_id, False
        self._select: str | None = None
        self._first: str | None = None
        self._chosen = False
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._inside = given.get("id") == self._id
        if not self._inside:
            return
        name = given.get("name") or ""
        match tag:
            case "input" if given.get("type") in ("checkbox", "radio"):
                if "checked" in given:
                    self.pairs.append((name, given.get("value") or "on"))
            case "input" if name and given.get("type") != "file":
                self.pairs.append((name, given.get("value") or ""))
            case "select":
                self._select, self._first, self._chosen = name, None, False
            case "option" if self._select is not None:
                value = given.get("value") or ""
                self._first = value if self._first is None else self._first
                if "selected" in given:
                    self.pairs.append((self._select, value))
                    self._chosen = True
            case "textarea":
                self._area = name
                self.pairs.append((name, ""))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            name, before = self.pairs[-1]
            self.pairs[-1] = (name, before + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "textarea":
            self._area = None
        elif tag == "select" and self._select is not None:
            if not self._chosen and self._first is not None:
                self.pairs.append((self._select, self._first))
            self._select = None


def filled(page: str, form_id: str) -> list[tuple[str, str]]:
    """Return names and values of the form's inputs, in their order, without its buttons."""
    parser = _Form(form_id)
    parser.feed(page)
    return parser.pairs


def replaced(pairs: list[tuple[str, str]], **values: str) -> list[tuple[str, str]]:
    """Return the inputs with other values; `__` in a name stands for a point."""
    named = {name.replace("__", "."): value for name, value in values.items()}
    return [pair for pair in pairs if pair[0] not in named] + list(named.items())
