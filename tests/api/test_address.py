"""The address in links that commands make: the one that is named, else the one that the service was started with."""

from api.operate import serve as supervisor
from warehouse.operate.settings import Settings


def test_a_command_knows_where_the_service_answers(tmp_path):
    started = Settings.load(data_dir=tmp_path, port=8123)
    assert supervisor.known_address(Settings.load(data_dir=tmp_path)) == "http://127.0.0.1:8000"
    supervisor.keep_address(started)
    assert supervisor.known_address(Settings.load(data_dir=tmp_path)) == "http://127.0.0.1:8123"
    assert (
        supervisor.known_address(Settings.load(data_dir=tmp_path, public_url="https://a.example/"))
        == "https://a.example"
    )
