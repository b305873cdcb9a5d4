"""Chromium on a server of the test, as users who have logged in, and what goes wrong in it."""

import shutil
import socket
from contextlib import contextmanager
from threading import Thread
from urllib.parse import urljoin

import uvicorn
from playwright.sync_api import expect, sync_playwright
from stages import page_stage


@contextmanager
def served(app):
    """The address at which the app answers. The socket listens before the server runs."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def chromium():
    """The browser, headless."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "Chromium is missing: `make e2e` installs it (setup.sh chromium)"
    with sync_playwright() as playwright:
        # Its own sandbox is not for root, which tests in containers run as.
        browser = playwright.chromium.launch(executable_path=path, chromium_sandbox=False)
        yield browser
        browser.close()


class Visit:
    """A user's window, and what went wrong in it."""

    def __init__(self, browser, server, address, user, below="", **options):
        self.address, self.below, self.wrong = address, below, []
        self.context = browser.new_context(base_url=address, **options)
        if user:
            cookie = {
                "name": "_token",
                "value": page_stage.token(server, *user, below=below),
                "url": address,
            }
            self.context.add_cookies([cookie])
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.page.on("request", self._only_here)
        self.page.on("dialog", lambda dialog: self._note(f"dialog: {dialog.message}", dialog))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))

    def _only_here(self, request):
        if not request.url.startswith((self.address, f"blob:{self.address}", "data:")):
            self.wrong.append(f"asked for {request.url}")

    def _note(self, what, dialog):
        self.wrong.append(what)
        dialog.dismiss()

    def open(self, view=""):
        self.page.goto(urljoin(f"{self.below}/strandline/", view))
        return self.page

    def choose(self, theme):
        """The theme that the user has chosen in Airflow at some time before."""
        self.context.add_init_script(f"localStorage.setItem('theme', '{theme}')")

    def open_in_airflow(self, view=""):
        """The frame in which Airflow shows a view."""
        self.page.goto(f"{self.below}/plugin/strandline/{view}")
        frame = self.page.frame_locator("iframe[title=Strandline]")
        expect(frame.locator("main")).to_be_visible()
        return frame


def colour(page, of):
    text = page.locator("body").evaluate(f"e => getComputedStyle(e).{of}")
    return [int(part) for part in text.partition("(")[2].rstrip(")").split(",")[:3]]


def brightness(colour):
    """Relative luminance, as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (part / 255 for part in colour)]  # fmt: skip
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    dark, light = sorted((brightness(one), brightness(other)))
    return (light + 0.05) / (dark + 0.05)


def fill_in(page, form, field, value):
    """Writes into a field of Airflow's form, as its kind takes it."""
    if isinstance(value, tuple):
        label = page.get_by_text(field.capitalize(), exact=True)
        form.get_by_role("group").filter(has=label).get_by_test_id("datetime-input").click()
        page.get_by_placeholder("YYYY/MM/DD").fill(value[0])
        page.get_by_placeholder("HH:mm").fill(value[1])
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
    elif isinstance(value, bool):
        box = form.locator(f"[name=element_{field}]")
        if box.is_checked() != value:
            box.locator("xpath=ancestor::label").click()
    elif form.locator(f"div#element_{field}").count():  # a picker of several
        for each in str(value).split("\n"):
            form.locator(f"#element_{field} input").first.fill(each)
            page.keyboard.press("Enter")
    else:
        form.locator(f"[name=element_{field}]").fill(str(value))
