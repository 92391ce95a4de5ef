package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
)

// A private key in a PEM file may be encrypted with a password. OpenSSL writes PKCS#8 (RFC 5958) with the scheme PBES2 (RFC
// 8018): a key derived with PBKDF2, and AES in CBC mode. Its old format, which tells by the padding whether a guessed
// password was right, is refused: Go has deprecated it.

type encryptedKeyInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2Params struct {
	Derivation pkix.AlgorithmIdentifier
	Encryption pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

// derivationHashes are those of PBKDF2, by the identifier of their HMAC.
var derivationHashes = map[string]func() hash.Hash{
	"":                    sha1.New, // the default
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// aesKeyBytes are the lengths of keys, by the identifier of AES in CBC mode.
var aesKeyBytes = map[string]int{
	"2.16.840.1.101.3.4.1.2":  16,
	"2.16.840.1.101.3.4.1.22": 24,
	"2.16.840.1.101.3.4.1.42": 32,
}

// iterationsMax bounds the time that a derived key may take, to some seconds.
const iterationsMax = 10_000_000

// plainKey returns a PEM file with the private key in text, decrypted if it is encrypted.
func plainKey(text []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("no PEM data")
	case block.Headers["DEK-Info"] != "":
		return nil, errors.New("the key is encrypted in an old format; convert it with openssl pkcs8 -topk8")
	case block.Type != "ENCRYPTED PRIVATE KEY":
		return text, nil
	}
	der, err := decryptKey(block.Bytes, password)
	if err != nil {
		return nil, fmt.Errorf("decrypt the key with tls-key-file-pass: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// decryptKey decrypts an EncryptedPrivateKeyInfo.
func decryptKey(der []byte, password string) ([]byte, error) {
	var info encryptedKeyInfo
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, err
	}
	var params pbes2Params
	if err := readParams(info.Algorithm, oidPBES2, &params); err != nil {
		return nil, err
	}
	var kdf pbkdf2Params
	if err := readParams(params.Derivation, oidPBKDF2, &kdf); err != nil {
		return nil, err
	}
	prf := derivationHashes[kdf.PRF.Algorithm.String()]
	keyBytes := aesKeyBytes[params.Encryption.Algorithm.String()]
	var iv []byte
	switch _, err := asn1.Unmarshal(params.Encryption.Parameters.FullBytes, &iv); {
	case prf == nil || keyBytes == 0:
		return nil, errors.New("it is not encrypted with AES in CBC mode and a key from PBKDF2 with SHA")
	case err != nil || len(iv) != aes.BlockSize || len(info.Data) == 0 || len(info.Data)%aes.BlockSize != 0:
		return nil, errors.New("it is damaged")
	case kdf.Iterations < 1 || kdf.Iterations > iterationsMax:
		return nil, fmt.Errorf("it asks for %d iterations", kdf.Iterations)
	}
	key, err := pbkdf2.Key(prf, password, kdf.Salt, kdf.Iterations, keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(info.Data, info.Data)
	padding := int(info.Data[len(info.Data)-1])
	plain := info.Data[:max(len(info.Data)-padding, 0)]
	if !isPKCS8(plain) {
		return nil, errors.New("the password is wrong")
	}
	return plain, nil
}

// readParams reads the parameters of an algorithm, which must be the one given.
func readParams(a pkix.AlgorithmIdentifier, oid asn1.ObjectIdentifier, into any) error {
	if !a.Algorithm.Equal(oid) {
		return fmt.Errorf("the scheme %v is not known", a.Algorithm)
	}
	_, err := asn1.Unmarshal(a.Parameters.FullBytes, into)
	return err
}

// isPKCS8 tells whether der is a private key in this form, which what a wrong password gives is not.
func isPKCS8(der []byte) bool {
	_, err := x509.ParsePKCS8PrivateKey(der)
	return err == nil
}
