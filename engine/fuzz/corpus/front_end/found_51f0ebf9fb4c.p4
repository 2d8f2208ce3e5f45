k1 if 6w0xABC : inout  ons]twons]tw0$32w0xABC bit<8A \0$xABC0xABC bit<8A \ ~ x 32w0xABC= 16w bit<8A \ ~ x ();
        m16w0$xABC0xABC