const bit<8> ä = 1; // 日本
