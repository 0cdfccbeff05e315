"""The clients in the repository are those of today's document: an upgrade of the service serves no older client."""

from api.app import INTERFACE_VERSION
from tools.build_clients import BUILT, DIGEST, digest
from tools.record_release import CLIENTS, last


def test_the_packages_were_built_from_what_is_here() -> None:
    assert DIGEST.read_text(encoding="utf-8").strip() == digest(), "run `make clients`, commit api/reference/clients/"
    assert {path.name for path in BUILT.iterdir()} == {
        DIGEST.name,
        f"pcds_client-{INTERFACE_VERSION}-py3-none-any.whl",
        f"pcds-client-{INTERFACE_VERSION}.tgz",
    }


def test_the_last_releases_packages_are_kept_beside_its_document() -> None:
    version = last()["info"]["version"]
    assert {path.name for path in CLIENTS.iterdir()} == {
        f"pcds_client-{version}-py3-none-any.whl",
        f"pcds-client-{version}.tgz",
    }
