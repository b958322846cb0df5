"""Checks a built site: links and anchors lead somewhere, nothing is fetched from elsewhere, every page is near, no text is an attribute.

    check.py SITE
"""
import collections
import html.parser
import pathlib
import posixpath
import sys
import urllib.parse

MOST_CLICKS = 3
# The tags that hold text of pages, and the attributes that these may have. Any other one was text in braces.
OF_TEXT = {"td", "th", "tr", "li", "p", "h1", "h2", "h3", "h4", "h5", "h6", "code", "em", "strong"}
ATTRIBUTES = {"class", "id", "style", "align"}


class Page(html.parser.HTMLParser):
    """The links, the anchors and the files to load of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loaded, self.hidden = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        strange = sorted(key for key in named if key not in ATTRIBUTES and not key.startswith(("data-", "aria-")))
        if tag in OF_TEXT and strange:
            self.hidden.append(f"<{tag} {' '.join(strange)}>")
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        elif tag == "link" and named.get("rel") in ("stylesheet", "preload", "icon", "modulepreload"):
            self.loaded.append(named.get("href") or "")
        elif tag in ("script", "img", "iframe", "source", "video", "audio") and named.get("src"):
            self.loaded.append(named["src"])


def pages_of(site):
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def place(name, link):
    """-> (file below the site, anchor) of a relative link."""
    parts = urllib.parse.urlsplit(link)
    path = urllib.parse.unquote(parts.path)
    file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    return ("index.html" if file == "." else file), urllib.parse.unquote(parts.fragment)


def is_elsewhere(link):
    parts = urllib.parse.urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def broken_links(site, pages):
    for name, page in pages.items():
        if name == "404.html":  # its links are absolute, since it is shown for any address
            continue
        for link in page.links:
            if is_elsewhere(link):
                continue
            file, anchor = place(name, link)
            if (site / file).is_dir():
                file = posixpath.join(file, "index.html")
            if not (site / file).exists():
                yield f"{name} links {link}, which does not exist"
            elif anchor and file in pages and anchor not in pages[file].anchors and anchor != "__skip":
                yield f"{name} links {link}: {file} has no such anchor"


def foreign_files(pages):
    for name, page in pages.items():
        for link in page.loaded:
            if is_elsewhere(link) and not link.startswith("data:"):
                yield f"{name} loads {link} from elsewhere"


def distances(pages):
    """Clicks from the first page to each page."""
    clicks, todo = {"index.html": 0}, collections.deque(["index.html"])
    while todo:
        name = todo.popleft()
        for link in pages[name].links:
            file = place(name, link)[0] if not is_elsewhere(link) else None
            if file in pages and file not in clicks:
                clicks[file] = clicks[name] + 1
                todo.append(file)
    return clicks


def far_pages(pages):
    clicks = distances(pages)
    for name in pages:
        if name != "404.html" and clicks.get(name, MOST_CLICKS + 1) > MOST_CLICKS:
            yield f"{name} is {clicks.get(name, 'never reached,')} clicks from the first page, and {MOST_CLICKS} are allowed"


def hidden_text(pages):
    for name, page in pages.items():
        for tag in page.hidden:
            yield f"{name} has {tag}: text that became attributes, which nobody sees"


def problems(site, pages):
    return [*broken_links(site, pages), *foreign_files(pages), *far_pages(pages), *hidden_text(pages)]


def main(site):
    pages = pages_of(site)
    found = problems(site, pages)
    for problem in found:
        print(problem)
    print(f"{len(pages)} pages, {len(found)} problems")
    return 1 if found or len(pages) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
