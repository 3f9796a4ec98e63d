"""The operator's command, `maumauctl`.

It lives here and not beside the players' client, since it calls what only the internal ports have, with stubs that the
client's package leaves out, and looks at settings, key folder and Redis with the code by which the services read them.
"""
