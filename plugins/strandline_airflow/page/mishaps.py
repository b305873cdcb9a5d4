"""What goes wrong, in words, with the way back."""

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from strandline.errors import StrandlineError, Transient
from strandline_airflow.page.asked import NoSuchTable, NoSuchThing
from strandline_airflow.page.rendering import address, shown


def tell(app: FastAPI) -> None:
    """Lets the app answer with a page, whatever happens."""
    app.exception_handler(StrandlineError)(_failed)
    app.exception_handler(RequestValidationError)(_misread)
    app.exception_handler(StarletteHTTPException)(_refused)
    app.exception_handler(Exception)(_broken)


def _message(status: int, text: str, request: Request, *, leads_back: bool = True) -> Response:
    """What went wrong, and the way back to the table that was asked about."""
    given = request.query_params
    source, table = given.get("source"), given.get("table")
    back = []
    if source and table and leads_back:
        back = [(address("table", source=source, table=table), table)]
    return shown("message", status, text=text, back=back)


def _failed(request: Request, error: StrandlineError) -> Response:
    status = 404 if isinstance(error, NoSuchThing) else 400
    status = 503 if isinstance(error, Transient) else status
    return _message(status, str(error), request, leads_back=not isinstance(error, NoSuchTable))


def _misread(request: Request, error: RequestValidationError) -> Response:
    wrong = "; ".join(f"'{each['loc'][-1]}': {each['msg']}" for each in error.errors())
    return _message(400, f"This address cannot be understood: {wrong}", request)


def _refused(request: Request, error: HTTPException) -> Response:
    text = {
        401: "You are not logged in, or your session is over. Log in to Airflow, then open this "
        "page again",
        403: "Your role may not see this page. It takes the permission to see plugins; ask whoever "
        "administers this Airflow"
        if error.detail == "Forbidden"
        else str(error.detail),
        404: "There is no such view. Start at the overview",
        405: "This page only reads. What changes something is a DAG: trigger it in Airflow",
    }.get(error.status_code, str(error.detail))
    return _message(error.status_code, text, request, leads_back=error.status_code != 401)


def _broken(request: Request, _error: Exception) -> Response:
    # Airflow's server logs the error itself.
    return _message(500, "This view is broken; the log of the API server says why", request)
