"""Large language models: in process, on a server, and a cache around any of them."""
