"""A certificate authority of our own, and what it signs, for the tests of TLS."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)
_NOT_SAID = "digital_signature content_commitment key_encipherment data_encipherment key_agreement"
SIGNS_CERTIFICATES = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
    **dict.fromkeys(_NOT_SAID.split(), False),
)
"""Asked of an authority, with the ids of keys, by Python 3.13 and newer."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The files of a certificate and of its key."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates into a folder; without `has_ids` as authorities of EKS clusters do."""

    def __init__(self, folder: Path, name: str = "authority", *, has_ids: bool = True) -> None:
        self._has_ids = has_ids
        self._folder = folder
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        unsigned = _unsigned(self._name, self._name, self._key.public_key(), days=1)
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        builder = unsigned.add_extension(constraints, critical=True)
        if has_ids:
            builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
            builder = builder.add_extension(self._key_id(), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def sign(
        self,
        name: str,
        *,
        days: int = 1,
        password: bytes | None = None,
        key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | None = None,
    ) -> KeyPair:
        """A certificate for this name and for 127.0.0.1; expired where `days` is negative."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        unsigned = _unsigned(_name(name), self._name, key.public_key(), days)
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._key_id())
        builder = unsigned.add_extension(address, critical=False)
        if self._has_ids:
            builder = builder.add_extension(signer, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = KeyPair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        pair.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        hidden: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            hidden = serialization.BestAvailableEncryption(password)
        form = serialization.PrivateFormat.PKCS8
        pair.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, hidden))
        return pair

    def _key_id(self) -> x509.SubjectKeyIdentifier:
        return x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    days: int,
) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * DAY)
        .not_valid_after(now + days * DAY)
    )
