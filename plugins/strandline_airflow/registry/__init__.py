"""Schemas that records name by an id: which ids those are, who is asked, and what is stored.

`client` speaks HTTP by an Airflow connection, `confluent` and `apicurio` know what is asked where,
`lookup` asks for what the lake does not have yet and stores it there.
"""
