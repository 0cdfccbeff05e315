"""The authorization server by its good way, by what clients discover, and by what each request must be refused for."""

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.api.people import BASE, Browser, added, hidden
from tests.connector.oauth.authorising import REDIRECT, RESOURCE, Application, answer_of, at_home, challenge_of
from warehouse import assistants


def refused(response) -> tuple[int, str]:
    body = response.json()
    assert set(body) == {"error", "error_description", "correlationId"}
    assert body["error_description"].isascii()
    assert response.headers["cache-control"] == "no-store"
    return response.status_code, body["error"]


INVALID_GRANT = (400, "invalid_grant")


def test_discovery_leads_from_a_refusal_to_every_endpoint(application):
    challenge = application.call(None).headers["www-authenticate"]
    where = challenge.partition('resource_metadata="')[2].partition('"')[0]
    assert where == f"{BASE}/.well-known/oauth-protected-resource/api/mcp"
    assert 'scope="read write"' in challenge
    assert "error=" not in challenge
    resource = application.browser.get(where).json()
    assert resource["resource"] == RESOURCE
    [issuer] = resource["authorization_servers"]
    server = application.browser.get(f"{issuer}/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == issuer == BASE
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["authorization_response_iss_parameter_supported"] is True
    assert server["client_id_metadata_document_supported"] is True
    assert all(server[name].startswith(f"{BASE}/oauth/") for name in server if name.endswith("_endpoint"))
    assert "offline_access" not in server["scopes_supported"]


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-protected-resource/api/mcp", "/.well-known/oauth-authorization-server"]
)
def test_discovery_answers_head_as_get(application, path):
    whole, head = (application.browser.http.request(method, path) for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("path", "allow"),
    [("/oauth/authorize", "GET, HEAD, POST"), ("/oauth/token", "OPTIONS, POST"), ("/sign-in", "GET, HEAD, POST"),
     ("/.well-known/oauth-authorization-server", "GET, HEAD, OPTIONS")],
)  # fmt: skip
def test_another_method_is_told_all_there_are(application, path, allow):
    answer = application.browser.http.request("PUT", path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)


def test_a_person_connects_calls_refreshes_sees_and_revokes(application, clock):
    begun, page = clock.now(), application.authorize()
    for shown in ("Helper", "assistant.example", "packaging items"):
        assert shown in page.text
    answer = answer_of(application.decide())
    assert (answer["iss"], answer["state"]) == (BASE, "s t&a=te")
    tokens = application.redeem(answer["code"]).json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 900, "read write")
    assert application.call(tokens["access_token"]).status_code == 200
    clock.advance(timedelta(minutes=3))
    assert application.call(tokens["access_token"]).status_code == 200
    listed = application.browser.get("/connections").text
    for instant in (begun, clock.now()):
        assert listed.count(f'datetime="{instant:%Y-%m-%dT%H:%M:%SZ}"') == 1
    newer = application.refresh(tokens["refresh_token"]).json()
    assert application.call(newer["access_token"]).status_code == 200
    assert application.call(tokens["access_token"]).status_code == 200, "the old one lives to its end"
    csrf = hidden(listed)["csrf"]
    where = listed.partition('action="/connections/')[2].partition('"')[0]
    assert application.browser.post(f"/connections/{where}", {"csrf": csrf}).status_code == 303
    for token in (tokens["access_token"], newer["access_token"]):
        assert application.call(token).status_code == 401
    assert refused(application.refresh(newer["refresh_token"])) == INVALID_GRANT
    assert "Helper" not in application.browser.get("/connections").text


def test_both_acts_stand_in_the_ledger_with_the_persons_name(application, person, company, pool):
    application.connected()
    page = application.browser.get("/connections").text
    where = page.partition('action="/connections/')[2].partition('"')[0]
    application.browser.post(f"/connections/{where}", {"csrf": hidden(page)["csrf"]})
    with pool.company(company) as connection:
        entries = connection.execute(
            "SELECT action, actor_type, actor_name, after ->> 'application' FROM audit_entries"
            " JOIN audit_transactions ON audit_transactions.id = transaction_id ORDER BY audit_entries.id"
        ).fetchall()
    who = ("user", person.email, "Helper")
    signed_in, *acts = entries
    assert signed_in[0] == "user.signed_in"
    assert acts == [("connection.authorised", *who), ("connection.revoked", *who)]


def test_who_is_not_signed_in_signs_in_and_comes_back_to_the_very_request(application, place, person):
    elsewhere = Application(Browser(place.http, place.address), application.registered)
    to_sign_in = elsewhere.authorize()
    assert to_sign_in.headers["location"].startswith("/sign-in?next=%2Foauth%2Fauthorize%3F")
    form = hidden(elsewhere.browser.get(to_sign_in.headers["location"]).text)
    back = elsewhere.browser.post("/sign-in", form | {"email": person.email, "password": person.password})
    assert "Helper" in elsewhere.browser.get(back.headers["location"]).text


def test_a_fault_before_the_sign_in_is_shown_and_leads_nowhere(application, place):
    stranger = Application(Browser(place.http, place.address), application.registered)
    for other in ({"response_type": "token"}, {"code_challenge": None}, {"scope": "admin"}):
        shown = stranger.authorize(**other)
        assert shown.status_code == 400
        assert "location" not in shown.headers
        assert REDIRECT not in shown.text
    assert stranger.browser.get("/oauth/authorize", params=stranger.asks(response_type="token", lang="de")).text.count(
        "Geben Sie dem Hersteller Bescheid"
    )


@pytest.mark.parametrize("redirect", [
    "javascript:alert(1)", "http://evil.example/cb", "data:text/html,x", "https://a.example/cb#part", "https://",
    "https://user@evil.example/", "http://127.0.0.1.evil.example/", "http://localhost@evil.example/",
    "http://127.0.0.1:99999/", "https://a.example/c b", "https://a.example\\@evil.example/", "//evil.example", "",
    "https://a.example/\ncb", "https://ä.example/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/",
    "https://a.example;style-src", "https://a.example;script-src/cb", "https://*.example/", "https://a.example,b/",
    "https://a.example'/", 'https://a.example"/', "https://a..example/", "https://[::1;x]/", "https://[::1]x/",
    "JavaScript://host/%0aalert(1)", "javascript://a.b/cb", "vbscript://a/b", "data://a/b", "file:///etc/passwd",
    "file://host/share", "blob:https://a.example/x", "about:blank", "about://blank", "filesystem:https://a.example/x",
    "view-source://a.example/", "intent://a.example/#Intent", "intent://a/b", "android-app://a/b", "ms-msdt://a/b",
    "search-ms://a/b", "content://a/b", "chrome://settings", "chrome-extension://abc/x", "mailto:a@b.example",
    "tel:+4912", "ftp://a.example/", "ws://a.example/", "wss://a.example/", "smb://a.example/x", "ldap://a.example/",
    "jar:https://a.example/x", "cursor:cb", "cursor:/cb", "cursor://", "cursor:///cb", "cursor://a@b/cb", "cursor://a/b#c",
    "cursor://a b/c", "Cursor://a/b", "c:/x", "com.example.app:cb", "com.example.app:", "com.example.app://",
])  # fmt: skip
def test_such_redirects_cannot_be_registered(application, redirect):
    for uris in ([redirect], [REDIRECT, redirect]):
        assert refused(application.register(redirect_uris=uris)) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(("said", "code"), [
    ({"redirect_uris": []}, "invalid_redirect_uri"), ({"redirect_uris": "https://a.example/"}, "invalid_redirect_uri"),
    ({"redirect_uris": None}, "invalid_redirect_uri"), ({"client_name": 7}, "invalid_client_metadata"),
    ({"client_name": "x" * 201}, "invalid_client_metadata"), ({"response_types": ["token"]}, "invalid_client_metadata"),
    ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
    ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
])  # fmt: skip
def test_such_metadata_cannot_be_registered(application, said, code):
    assert refused(application.register(**said)) == (400, code)


def test_a_body_that_is_no_registration_is_refused(application):
    for body, status in ((b"", 400), (b"[]", 400), (b"{", 400), (b'"x"', 400), (b" " * 70_000, 413)):
        assert application.browser.http.post("/oauth/register", content=body).status_code == status


def test_registrations_are_bounded_by_address(application, place):
    other = Application(Browser(place.http, "10.77.0.1"))
    answers = [other.register().status_code for _ in range(assistants.PER_ADDRESS + 1)]
    assert answers == [201] * assistants.PER_ADDRESS + [429]


@pytest.mark.parametrize(
    ("named", "port"), [("http://127.0.0.1", ""), ("http://localhost", ":1"), ("http://[::1]", ":9")]
)
def test_a_program_on_the_same_computer_comes_back_on_any_port_and_nothing_else(application, named, port):
    application.register(redirect_uris=[f"{named}{port}/cb"])
    elsewhere = f"{named}:51234/cb"
    response = application.decide(redirect_uri=elsewhere)
    assert response.headers["location"].startswith(f"{elsewhere}?code=")
    assert application.authorize(redirect_uri=f"{named}:51234/other").status_code == 400
    assert application.redeem(answer_of(response)["code"], redirect_uri=elsewhere).status_code == 200


@pytest.mark.parametrize(
    "own", ["cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/oauth?app=1", "vscode://vscode.mcp/cb"]
)
def test_a_native_assistant_comes_back_by_a_scheme_of_its_own(application, own):
    every = [own, REDIRECT, "http://127.0.0.1:8080/cb"]
    assert application.register(redirect_uris=every).json()["redirect_uris"] == every
    scheme = own.partition(":")[0]
    page = application.authorize(redirect_uri=own)
    assert f"claimed addresses beginning with {scheme}:." in page.text
    assert f"form-action 'self' {scheme}:" in page.headers["content-security-policy"]
    response = application.decide(redirect_uri=own)
    assert response.headers["location"].startswith(f"{own}{'&' if '?' in own else '?'}code=")
    assert application.redeem(answer_of(response)["code"], redirect_uri=own).status_code == 200
    for other in (f"{own}/more", own.replace("://", "://x.", 1) if "://" in own else f"{own}2", f"{scheme}://x/cb"):
        assert application.authorize(redirect_uri=other).status_code == 400


@pytest.mark.parametrize("redirect", [
    "https://evil.example/", f"{REDIRECT}/", f"{REDIRECT}?x=1", REDIRECT.upper(), REDIRECT.replace("https", "http"),
    f"{REDIRECT}@evil.example", REDIRECT.replace("assistant.example", "assistant.example:444"), f"{REDIRECT}\n",
])  # fmt: skip
def test_nobody_is_sent_to_an_address_that_is_not_registered(application, redirect):
    for response in (
        application.authorize(redirect_uri=redirect),
        application.authorize(redirect_uri=redirect, scope="x"),
    ):
        assert response.status_code == 400
        assert "location" not in response.headers
        assert response.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("client", ["nobody", "", None, "x" * 3_000, "a\x00b", "app_é", "https://127.0.0.1/x"])
def test_an_unknown_application_is_told_to_the_person(application, client):
    response = application.authorize(client_id=client)
    assert response.status_code == 400
    assert "location" not in response.headers
    assert "<h1>" in response.text


def test_two_applications_in_one_request_are_nobodys(application):
    query = "&".join(f"client_id={one}" for one in (application.id, "other")) + "&response_type=code"
    assert application.browser.get(f"/oauth/authorize?{query}").status_code == 400


@pytest.mark.parametrize(("other", "code"), [
    ({"response_type": "token"}, "unsupported_response_type"), ({"response_type": None}, "invalid_request"),
    ({"code_challenge": None}, "invalid_request"), ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"), ({"code_challenge": "short"}, "invalid_request"),
    ({"code_challenge": "=" * 43}, "invalid_request"), ({"resource": "https://other.example/"}, "invalid_target"),
    ({"resource": f"{RESOURCE}/"}, "invalid_target"), ({"scope": "admin"}, "invalid_scope"),
    ({"scope": "read admin"}, "invalid_scope"),
])  # fmt: skip
def test_the_application_hears_of_its_faults_with_state_and_issuer(application, other, code):
    answer = answer_of(application.authorize(**other))
    assert (answer["error"], answer["state"], answer["iss"]) == (code, "s t&a=te", BASE)
    assert "code" not in answer


def test_a_parameter_sent_twice_is_a_fault(application):
    asked = [*application.asks().items(), ("code_challenge", challenge_of("another"))]
    assert answer_of(application.browser.http.get("/oauth/authorize", params=asked))["error"] == "invalid_request"


def test_a_persons_no_goes_back_and_leaves_nothing(application):
    answer = answer_of(application.decide("deny"))
    assert (answer["error"], answer["iss"]) == ("access_denied", BASE)
    assert "Helper" not in application.browser.get("/connections").text


def test_a_missing_resource_is_the_one_there_is(application):
    tokens = application.connected(resource=None)
    assert application.call(tokens["access_token"]).status_code == 200


def test_consent_cannot_be_given_from_another_page(application, place, company, pool):
    form = hidden(application.authorize().text)
    assert form["csrf"]
    for forged in (form | {"csrf": ""}, {k: v for k, v in form.items() if k != "csrf"}, form | {"csrf": "x"}):
        assert application.browser.post("/oauth/authorize", forged | {"decision": "allow"}).status_code == 403
    other = at_home(place.http, place.address, added(pool, company))
    foreign = hidden(other.authorize().text)["csrf"]
    response = application.browser.post("/oauth/authorize", form | {"csrf": foreign, "decision": "allow"})
    assert response.status_code == 403
    headers = {"Sec-Fetch-Site": "cross-site"}
    response = application.browser.post("/oauth/authorize", form | {"decision": "allow"}, headers=headers)
    assert response.status_code == 403
    assert "Helper" not in application.browser.get("/connections").text


def test_the_request_cannot_bring_a_decision_or_a_token_of_its_own(application):
    page = application.authorize(decision="allow", csrf="theirs")
    assert 'value="theirs"' not in page.text
    assert page.text.count('name="decision"') == 2


def test_consent_cannot_be_framed_and_may_lead_to_the_application_alone(application):
    policy = application.authorize().headers["content-security-policy"].split("; ")
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://assistant.example" in policy


def test_a_script_as_a_name_is_shown_as_text(application):
    application.register(client_name="<script>alert(1)</script>\u202e{x}")
    page = application.authorize()
    assert "<script" not in page.text
    assert "&lt;script&gt;" in page.text
    assert "\u202e" not in page.text


def test_a_code_that_comes_again_ends_the_connections_tokens(application):
    code = application.code()
    tokens = application.redeem(code).json()
    assert application.call(tokens["access_token"]).status_code == 200
    assert refused(application.redeem(code)) == INVALID_GRANT
    assert application.call(tokens["access_token"]).status_code == 401
    assert refused(application.refresh(tokens["refresh_token"])) == INVALID_GRANT


def test_a_code_is_used_up_by_whoever_presents_it(application, place, person):
    thief = at_home(place.http, place.address, person)
    for wrong in ({"code_verifier": "x" * 43}, {"redirect_uri": "https://evil.example/"}, {"client_id": thief.id}):
        code = application.code()
        assert refused(application.redeem(code, **wrong)) == INVALID_GRANT
        assert refused(application.redeem(code)) == INVALID_GRANT


def test_a_code_lives_two_minutes(application, clock):
    code = application.code()
    clock.advance(assistants.CODE_LIFETIME)
    assert refused(application.redeem(code)) == INVALID_GRANT


def test_a_refresh_token_that_comes_again_ends_its_family_and_no_other(application):
    first, other = application.connected(), application.connected()
    second = application.refresh(first["refresh_token"]).json()
    assert refused(application.refresh(first["refresh_token"])) == INVALID_GRANT
    assert refused(application.refresh(second["refresh_token"])) == INVALID_GRANT
    assert application.call(second["access_token"]).status_code == 401
    assert application.call(other["access_token"]).status_code == 200
    assert application.refresh(other["refresh_token"]).status_code == 200


def test_tokens_end_by_the_clock(application, clock):
    tokens = application.connected()
    clock.advance(assistants.ACCESS_LIFETIME)
    assert application.call(tokens["access_token"]).status_code == 401
    clock.advance(assistants.REFRESH_LIFETIME - assistants.ACCESS_LIFETIME)
    assert refused(application.refresh(tokens["refresh_token"])) == INVALID_GRANT


def test_whatever_is_wrong_with_a_grant_is_told_alike(application, place, person, clock):
    used = application.connected()
    application.refresh(used["refresh_token"])
    thief = at_home(place.http, place.address, person)
    foreign = thief.connected()["refresh_token"]
    answers = [application.refresh("unknown"), application.refresh(used["refresh_token"]), application.refresh(foreign),
               application.redeem("unknown"), application.redeem(used["access_token"])]  # fmt: skip
    assert {refused(answer) for answer in answers} == {INVALID_GRANT}
    assert len({answer.json()["error_description"] for answer in answers}) == 1
    assert thief.refresh(foreign).status_code == 200, "another client's attempt has not spent it"


def test_a_refresh_may_ask_for_less_and_never_for_more(application):
    less = application.connected(scope="read")
    assert less["scope"] == "read"
    assert refused(application.refresh(less["refresh_token"], scope="read write")) == (400, "invalid_scope")
    tokens = application.connected()
    narrow = application.refresh(tokens["refresh_token"], scope="read").json()
    assert narrow["scope"] == "read"
    assert application.refresh(narrow["refresh_token"]).json()["scope"] == "read write"


def test_faults_of_a_token_request(application):
    code = application.code()
    cases = {
        "unsupported_grant_type": application.token(grant_type="password", username="a", password="b"),
        "invalid_target": application.redeem(code, resource="https://other.example/"),
        "invalid_client": application.redeem(code, client_id="nobody"),
    }
    for error, answer in cases.items():
        assert answer.json()["error"] == error
    assert cases["invalid_client"].status_code == 401
    twice = ["authorization_code"] * 2
    for answer in (application.token(code=code), application.redeem(code, code_verifier=None),
                   application.redeem(None), application.redeem(code, grant_type=twice)):  # fmt: skip
        assert refused(answer) == (400, "invalid_request")
    json = {"grant_type": "authorization_code", "code": code, "client_id": application.id}
    assert refused(application.browser.http.post("/oauth/token", json=json)) == (400, "invalid_request")
    assert application.redeem(code).status_code == 200, "no code was presented by any of these"


def test_a_client_with_a_secret_shows_it_in_one_of_two_ways(application):
    for method in ("client_secret_basic", "client_secret_post"):
        application.register(token_endpoint_auth_method=method)
        secret = application.registered["client_secret"]
        basic = {"Authorization": "Basic " + b64encode(f"{application.id}:{secret}".encode()).decode()}
        assert application.redeem(application.code(), client_id=None, headers=basic).status_code == 200
        assert application.redeem(application.code(), client_secret=secret).status_code == 200
        code = application.code()
        wrong = {"Authorization": "Basic " + b64encode(f"{application.id}:wrong".encode()).decode()}
        for answer in (application.redeem(code), application.redeem(code, client_secret="wrong"),
                       application.redeem(code, client_id=None, headers=wrong)):  # fmt: skip
            assert refused(answer) == (401, "invalid_client")
            assert answer.headers["www-authenticate"].startswith("Basic")
        both = application.redeem(code, client_id=None, client_secret=secret, headers=basic)
        assert refused(both) == (400, "invalid_request")


def test_an_application_ends_its_own_tokens_and_nobody_elses(application, place, person):
    tokens, other = application.connected(), at_home(place.http, place.address, person)
    for token in ("unknown", tokens["refresh_token"]):
        assert other.token("/oauth/revoke", token=token).status_code == 200
    assert application.call(tokens["access_token"]).status_code == 200
    assert application.token("/oauth/revoke", token=tokens["refresh_token"]).status_code == 200
    assert application.call(tokens["access_token"]).status_code == 401
    assert "Helper" not in application.browser.get("/connections").text, "nothing of the connection is left"


def test_browsers_of_other_origins_may_ask_what_takes_no_cookie(application):
    for path in ("/.well-known/oauth-protected-resource/api/mcp", "/.well-known/oauth-authorization-server",
                 "/oauth/token", "/oauth/register"):  # fmt: skip
        answer = application.browser.http.options(path, headers={"Origin": "https://page.example"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, "*")
    assert "access-control-allow-origin" not in application.authorize().headers


def test_of_many_that_present_one_code_or_refresh_token_at_once_one_wins_and_then_none(application):
    def at_once(send):
        with ThreadPoolExecutor(6) as threads:
            return [answer for answer in threads.map(lambda _: send(), range(6)) if answer.status_code == 200]

    code = application.code()
    [won] = at_once(lambda: application.redeem(code))
    assert application.call(won.json()["access_token"]).status_code == 401, "it was presented again"
    refresh = application.connected()["refresh_token"]
    [won] = at_once(lambda: application.refresh(refresh))
    assert application.call(won.json()["access_token"]).status_code == 401
    assert refused(application.refresh(won.json()["refresh_token"])) == INVALID_GRANT
