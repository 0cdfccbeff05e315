"""The address in links that commands make: the one that is named, else the one that the service was started with."""

from api import address
from warehouse.settings import Settings


def test_a_command_knows_where_the_service_answers(tmp_path):
    started = Settings.load(data_dir=tmp_path, port=8123)
    assert address.known_address(Settings.load(data_dir=tmp_path)) == "http://127.0.0.1:8000"
    address.keep(started)
    assert address.known_address(Settings.load(data_dir=tmp_path)) == "http://127.0.0.1:8123"
    assert (
        address.known_address(Settings.load(data_dir=tmp_path, public_url="https://a.example/")) == "https://a.example"
    )
