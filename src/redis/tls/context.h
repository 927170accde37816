// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace redlock::redis {

struct OpenSsl;

/// How to talk to `rediss://` servers. An empty text: not set.
struct TlsSettings {
  enum class Verify { server, nothing };
  std::string ca;      ///< a PEM file of trusted certificates; it and ca_dir replace the system's
  std::string ca_dir;  ///< a directory of such files, named by hash, as from openssl-rehash(1)
  std::string cert;    ///< our certificate (and its chain), if the server wants one
  std::string key;     ///< its key; empty: in the same file
  struct Names {       ///< what messages call these files
    std::string ca = "--tls-ca";
    std::string ca_dir = "--tls-ca-dir";
    std::string cert = "--tls-cert";
    std::string key = "--tls-key";
  };
  Names names;
  std::string sni;  ///< the name to ask for and to verify, in place of each URI's host
  Verify verify = Verify::server;
};

/// The check of a server's certificate, where the ex_data 0 of the connection's SSL points.
struct CertificateCheck {
  std::string wanted;     ///< the name or address that it should have
  std::string refused{};  ///< why it was not accepted, as a message may show it; empty: it was
};

/// All TLS connections share this: the authorities that we trust, and our certificate. The
/// constructor reads the files, before any request for a lock, since reading may take its time.
class TlsContext {
 public:
  /// Throws Error (78) that names the unusable file and the reason.
  explicit TlsContext(TlsSettings settings);
  ~TlsContext();

  /// Reads the files again, for the connections that begin from now on: a server, or we, did not
  /// accept a certificate, and they may have been replaced. Returns false and changes nothing if
  /// one of them is unusable, perhaps since it is being written, or is not a file.
  bool read_again() const;

  [[nodiscard]] const TlsSettings& settings() const { return settings_; }
  [[nodiscard]] const OpenSsl& openssl() const { return *openssl_; }
  [[nodiscard]] ssl_ctx_st* get() const { return context_.get(); }

 private:
  using Context = std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)>;

  [[nodiscard]] Context read() const;
  void trust(ssl_ctx_st* context) const;
  void identify(ssl_ctx_st* context) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& path,
                           const std::string& otherwise) const;

  TlsSettings settings_;
  std::unique_ptr<const OpenSsl> openssl_;
  mutable Context context_;  ///< each connection keeps the one with which it began
};

}  // namespace redlock::redis
