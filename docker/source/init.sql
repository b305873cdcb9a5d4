-- The sample source: two tables with a few rows, a publication, and Debezium's own user.
-- psql runs this once, when the database is made (psql's \getenv keeps the password out of here).
\getenv debezium_password SOURCE_DB_DEBEZIUM_PASSWORD

CREATE TABLE customers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text
);

CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers,
    status text NOT NULL DEFAULT 'new',
    total numeric(12, 2) NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO customers (name, email) VALUES
    ('Ada', 'ada@example.com'),
    ('Grace', 'grace@example.com'),
    ('Barbara', NULL);

INSERT INTO orders (customer_id, total) VALUES (1, 12.50), (2, 99.00), (2, 7.25);

CREATE PUBLICATION strandline_inventory FOR TABLE customers, orders;

CREATE ROLE debezium REPLICATION LOGIN PASSWORD :'debezium_password';
GRANT SELECT ON customers, orders TO debezium;
