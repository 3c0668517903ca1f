"""The module `uipc.usd`, which is empty in libuipc too."""
